#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "adapter/error.h"
#include "adapter/objects/completion_channel.h"
#include "adapter/objects/event_queue.h"
#include "adapter/objects/path_table.h"
#include "adapter/objects/prefetcher.h"
#include "adapter/objects/srq.h"
#include "adapter/objects/xrc_domain.h"
#include "adapter/port_map.h"
#include "adapter/ready_list.h"
#include "adapter/timer_heap.h"
#include "memory/access.h"
#include "queue/work_queue.h"
#include "transport/common/qp_attributes.h"
#include "transport/common/qp_state.h"
#include "transport/common/step.h"
#include "transport/iwarp/iwarp_qp.h"
#include "transport/iwarp/mpa_handshake.h"
#include "transport/iwarp/stream_qp.h"
#include "transport/rc/rc_qp.h"
#include "transport/uc/uc_qp.h"
#include "transport/ud/ud_qp.h"
#include "verbena/counters.h"
#include "verbena/post_error.h"
#include "verbena/transport_type.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

class IwarpStream;

// The attributes of a queue pair that never change.
struct QpInit {
  QpType type = QpType::kRc;
  memory::PdId pd = {};
  Cq* send_cq = nullptr;
  Cq* receive_cq = nullptr;
  Srq* srq = nullptr;               // or a receive queue of its own
  XrcDomain* xrc_domain = nullptr;  // of kXrcReceive, which uses the queues of its receivers
  EventQueue* events = nullptr;     // for its asynchronous events; nullptr: they are dropped
  queue::WorkQueueLimits send = {};
  queue::WorkQueueLimits receive = {};
  RegistrationMode registration = RegistrationMode::kDisabled;
};

// What all queue pairs of an adapter share.
struct QpContext {
  const transport::AddressHandles* handles = nullptr;
  transport::AttributeLimits limits = {};
  PortMap ports = {};
  uint32_t port_mtu = 4'096;
  TransportType transport = TransportType::kRoce;
  Duration page_service_estimate = Milliseconds(1);
};

// A queue pair of the adapter: its queues, its attributes, and the state machine that does its
// work, unless it is in RESET.
//
// Invariant: there is a machine exactly if the state is not RESET. The machine is configured with
// attributes().
//
// Owned by the engine. Thread rule: under the engine's lock, except the functions marked "any
// thread".
class QueuePair : public ReadyHook, public RunHook, public TimerHook {
 public:
  QueuePair(QpNumber number, const QpInit& spec, const QpContext& context);
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  [[nodiscard]] QpNumber number() const { return number_; }
  [[nodiscard]] const QpInit& spec() const { return spec_; }
  [[nodiscard]] QpState state() const;
  [[nodiscard]] bool is_draining() const;
  [[nodiscard]] const transport::QpSettings& attributes() const { return attributes_; }

  // --- Any thread. ---

  [[nodiscard]] queue::SendQueue& send_queue() { return send_queue_; }
  [[nodiscard]] queue::ReceiveQueue& receive_queue() { return receive_queue_; }
  // Why its type or state does not allow to post; nullopt if it does.
  [[nodiscard]] std::optional<PostError> RefusesSends() const {
    const QpState state = seen_state();
    if (!has_send_queue()) return PostError{PostReason::kNoSendQueue};
    if (!transport::MayPostSends(state)) return PostError{PostReason::kSendsNeedRts, state};
    return std::nullopt;
  }
  [[nodiscard]] std::optional<PostError> RefusesReceives() const {
    const QpState state = seen_state();
    if (!has_receive_queue()) return PostError{PostReason::kNoReceiveQueue};
    if (!transport::MayPostReceives(state)) return PostError{PostReason::kReceivesNeedInit, state};
    return std::nullopt;
  }
  // A caller that posts a receive request must schedule the queue pair: because the request is
  // flushed at once, or because its buffers must be present when a message arrives that is not
  // retransmitted, or because bytes of its stream may wait for it.
  [[nodiscard]] bool must_run_for_receives() const {
    return is_unreliable() || is_plain_stream() || prefetcher_.prefetches_receives() ||
           transport::FlushesReceives(seen_state());
  }

  // --- Control. ---

  // Whether a modification is allowed. Changes nothing.
  [[nodiscard]] ErrorOr<void> CheckModify(const transport::QpSettings& attributes,
                                          transport::AttributeMask mask) const;
  // Modifies it. REQUIRES: CheckModify succeeded, and Empty was called if the new state is RESET.
  void Modify(const transport::QpSettings& attributes, transport::AttributeMask mask);
  // Ends all work without a packet or completion, as reset and destruction do. Posted requests are
  // dropped, and requests taken from a shared queue are given back.
  void Empty(transport::Step& step);

  // The path to the peer of a connected queue pair, when it is known.
  [[nodiscard]] bool has_path() const { return path_.has_value(); }
  [[nodiscard]] const AddressVector& path() const { return *path_; }
  void set_path(const std::optional<AddressVector>& path) { path_ = path; }

  // --- The data path. ---

  // Why a packet for this queue pair must not be delivered to it; nullopt if it may.
  [[nodiscard]] std::optional<Drop> Refuses(const wire::Packet& packet,
                                            const transport::PacketOrigin& origin) const;
  void OnPacket(const wire::Packet& packet, const transport::PacketOrigin& origin,
                transport::Step& step);
  void OnPagesReady(transport::FaultTicket ticket, bool available, transport::Step& step);
  void OnTime(transport::Step& step);
  [[nodiscard]] Time next_time() const;
  // See RcQp.
  [[nodiscard]] bool ends_after_responses() const;
  // Packets of an unreliable service wait for pages.
  [[nodiscard]] bool has_held() const;
  // True if it must run again after the outbox is drained.
  [[nodiscard]] bool Run(transport::Step& step);
  // kXrcReceive: the queue is about to leave its domain.
  void DropReceiver(const Srq& srq, transport::Step& step);
  // A packet of its last run is not sent, because memory that it refers to is gone (`is_loss`), or
  // because an earlier packet is not sent. The machine requests the pages and sends it later. False
  // if the packet must be sent nevertheless.
  bool TakeBack(const transport::OutPacket& packet, bool is_loss, transport::Step& step);

  // --- iWARP. REQUIRES: the adapter speaks it, and the state is not RESET. ---

  // The stream that it is connected by; nullptr: none. Also of other queue pairs.
  [[nodiscard]] IwarpStream* stream() const { return stream_; }
  // INIT -> RTS. `stream` must not go before DetachStream.
  void AttachStream(IwarpStream& stream, const transport::MpaAgreement& agreement);
  // The same for a queue pair of type kStream.
  void AttachPlainStream(IwarpStream& stream);
  void DetachStream();
  void SendReadyToReceive();
  bool RepeatReady() { return iwarp().RepeatReady(); }
  void AssumePeerReady() { iwarp().AssumePeerReady(); }
  // See IwarpQp and StreamQp.
  [[nodiscard]] size_t OnBytes(wire::StreamOffset at, std::span<std::byte> bytes,
                               transport::Step& step) {
    return OfStream([&](auto& machine) { return machine.OnBytes(at, bytes, step); });
  }
  [[nodiscard]] wire::StreamOffset next_byte() const {
    return AskStream([](const auto& machine) { return machine.next_byte(); });
  }
  // The stream is gone.
  void OnStreamEnd();
  // The peer has ended its direction, and all bytes before that were taken. `is_broken`: the stream
  // is gone.
  void OnPeerEnd(bool is_broken);
  [[nodiscard]] bool is_waiting() const {
    return AskStream([](const auto& machine) { return machine.is_waiting(); });
  }
  [[nodiscard]] bool may_resume() const {
    return AskStream([](const auto& machine) { return machine.may_resume(); });
  }
  [[nodiscard]] bool wants_room() const {
    return AskStream([](const auto& machine) { return machine.wants_room(); });
  }
  [[nodiscard]] bool wishes_to_close() const {
    return AskStream([](const auto& machine) { return machine.wish(); }) ==
           transport::StreamWish::kClose;
  }
  [[nodiscard]] bool is_plain_stream() const { return spec_.type == QpType::kStream; }
  // The machine of plain bytes; nullptr: it has another one.
  [[nodiscard]] transport::StreamQp* plain() { return std::get_if<transport::StreamQp>(&machine_); }

  [[nodiscard]] QpCounters counters() const;
  // Counted by the engine.
  QpCounters traffic;

  [[nodiscard]] bool IsConsistent() const;

 private:
  using Machine = std::variant<std::monostate, transport::RcQp, transport::UcQp, transport::UdQp,
                               transport::IwarpQp, transport::StreamQp>;

  bool is_unreliable() const { return !transport::IsReliable(spec_.type); }
  bool is_extended() const {
    return spec_.type == QpType::kXrcSend || spec_.type == QpType::kXrcReceive;
  }
  bool has_send_queue() const { return spec_.type != QpType::kXrcReceive; }
  bool has_receive_queue() const { return spec_.srq == nullptr && !is_extended(); }
  void PrefetchReceives(transport::Step& step);
  template <class Reliable>
  void PrefetchForReliable(Reliable& machine, transport::Step& step);
  std::optional<Drop> CheckSender(const wire::Packet& packet,
                                  const transport::PacketOrigin& origin) const;
  QpState seen_state() const { return seen_state_.load(std::memory_order_acquire); }
  // Shows the state to threads that post. True if it must run once more, because one of them may
  // have seen the old state.
  bool ShowState();
  void MakeMachine();
  void Configure();
  void Become(QpState from, QpState to);
  transport::ReceiveSource Source();
  void MakeReliable();
  transport::RcConfig MakeRcConfig() const;
  transport::UcConfig MakeUcConfig() const;
  transport::UdConfig MakeUdConfig() const;
  transport::IwarpConfig MakeIwarpConfig() const;
  transport::StreamQpConfig MakeStreamConfig() const;
  bool is_iwarp() const { return IsIwarp(context_.transport); }
  transport::IwarpQp& iwarp() { return std::get<transport::IwarpQp>(machine_); }
  // What `fn` returns for the machine that uses the stream.
  template <class Fn>
  auto OfStream(Fn fn) -> decltype(fn(std::declval<transport::StreamQp&>())) {
    auto* const plain = std::get_if<transport::StreamQp>(&machine_);
    return plain != nullptr ? fn(*plain) : fn(iwarp());
  }
  template <class Fn>
  auto AskStream(Fn fn) const -> decltype(fn(std::declval<const transport::StreamQp&>())) {
    const auto* const plain = std::get_if<transport::StreamQp>(&machine_);
    return plain != nullptr ? fn(*plain) : fn(std::get<transport::IwarpQp>(machine_));
  }
  memory::Accessor who() const { return {spec_.pd, number_}; }

  const QpNumber number_;
  const QpInit spec_;
  const QpContext context_;
  queue::SendQueue send_queue_;
  queue::ReceiveQueue receive_queue_;
  transport::QpSettings attributes_;
  std::optional<AddressVector> path_;
  uint16_t peer_port_ = 0;  // of the connected peer: see PeerAddress
  Machine machine_;
  IwarpStream* stream_ = nullptr;
  Prefetcher prefetcher_;
  std::atomic<QpState> seen_state_ = QpState::kReset;
};

}  // namespace verbena::adapter
