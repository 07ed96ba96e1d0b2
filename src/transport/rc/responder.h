#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "memory/memory_core.h"
#include "queue/completion_queue.h"
#include "transport/common/outbox.h"
#include "transport/common/placement.h"
#include "transport/common/receive_slot.h"
#include "transport/common/receive_source.h"
#include "transport/common/responder_checks.h"
#include "transport/common/step.h"
#include "transport/common/verdict.h"
#include "transport/rc/inbound_wait.h"
#include "transport/rc/rc_config.h"
#include "transport/rc/replay_cache.h"
#include "transport/rc/segment_probe.h"
#include "transport/xrc/xrc_receivers.h"
#include "wire/roce/packet.h"
#include "wire/roce/syndrome.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// The receiving half of a reliable connection: executes the peer's requests, and responds to them.
//
//   OnRequest: PSN -> opcode sequence -> allowed -> resources -> length -> key -> execute
//                |                                                                  |
//            duplicate: replay                           acknowledgement, reply, completion due
//   Pump: replies in the order of the requests, then the NAK, then the acknowledgement
//
// An acknowledgement covers all packets before it (IBA 9.7.5.1.2), so at most one is due, and it
// must not overtake a reply. A NAK other than a sequence error or RNR is the last packet: the
// responder sends what was due before it, then the NAK, and accepts no more requests.
//
// Absent pages. The response to a send, write or atomic that meets them is an RNR NAK, and the
// packet is held; packets after it are dropped silently. When the pages are present, the held
// packet is executed, and an acknowledgement, requested or not, lets the peer continue after it.
// The NAK is marked (response_marks.h). Its timer is at least as long as that of the queue pair,
// and as the time for which the pages have been awaited. If the program allows few RNR retries, the
// NAK is delayed, because most pages arrive before it would be due; and its timers grow, so that a
// few retries last a second or more. The reply to a read waits for its pages. Pages that are lost
// between translation and copy are absent pages, kLossesMax times per message.
//
// Invariant: a packet is executed only if its PSN is expected_. A refusal leaves expected_ and the
// message in progress unchanged, so that the message can continue. Owned by its queue pair, which
// calls Pump after each burst of inputs; used by one thread at a time.
class Responder {
 public:
  // `rendezvous` is given if the source does tag matching.
  Responder(const RcConfig& config, ReceiveSource source, queue::CompletionQueue& receive_cq,
            TagRendezvous* rendezvous = nullptr);
  // Of an extended connection: each message names its receiver in the domain.
  Responder(const RcConfig& config, const XrcReceivers& receivers);

  // Takes effect at the next Start; remote rights and the RNR timer at once.
  void Configure(const RcConfig& config) { config_ = config; }

  // The first request has this number. REQUIRES: no receive request is in progress.
  void Start(Psn expected);

  // A packet for this queue pair has arrived. Packets that are not requests of this service are
  // dropped.
  void OnRequest(const wire::Packet& packet, Step& step);

  // Sends what is due, as far as the outbox has room.
  void Pump(Step& step);
  // Whether Pump would send something.
  [[nodiscard]] bool wants_step() const;
  // An acknowledgement is due, and no response of a read or atomic.
  [[nodiscard]] bool has_only_acks_due() const;
  // Something is still to be sent, now or when its pages are present. After a failure, the NAK has
  // been sent when this is false.
  [[nodiscard]] bool has_responses_due() const;

  // Pages requested in the outbox are present, or cannot be paged in. A ticket of another machine
  // is ignored.
  void OnPagesReady(FaultTicket ticket, bool available, Step& step);

  // Must be called at next_time() or later.
  void OnTime(Step& step);
  [[nodiscard]] Time next_time() const {
    const Time held = wait_.nak_held_until();
    return reply_wait_ ? std::min(held, reply_wait_->notice_at) : held;
  }

  // A packet that Pump added to the outbox was not sent: because memory that it refers to is gone
  // (`is_loss`), or because an earlier packet was not sent. The page is marked absent in the
  // tables; the packet is sent again, in order, after the page-in. False if it must be sent
  // nevertheless.
  [[nodiscard]] bool TakeBack(const OutPacket& packet, bool is_loss, Step& step);

  // Flushes all receive requests, because the queue pair is in error. Must be called again after
  // more are posted.
  void Flush(Step& step);

  // The queue pair is about to go into error because its own work has failed. The peer's
  // outstanding requests are refused.
  void Abandon(Step& step);

  // The receiver is about to leave its domain. A message in progress for it fails.
  void DropReceiver(const queue::SharedReceiveQueue& queue, Step& step);

  // The buffers of a receive request were absent when its message arrived. True once per message.
  [[nodiscard]] bool TakeReceiveFault() { return std::exchange(had_receive_fault_, false); }

  // The shared queue from which its receive requests come; nullptr if it is not shared.
  [[nodiscard]] queue::SharedReceiveQueue* shared_receives() const {
    return receive_.source().shared();
  }

  // Set when the queue pair must go to the error state.
  [[nodiscard]] const std::optional<FatalRefusal>& failure() const { return failure_; }

  [[nodiscard]] Psn expected() const { return expected_; }
  [[nodiscard]] wire::Msn msn() const { return msn_; }

  [[nodiscard]] bool IsConsistent() const;

 private:
  // Why packets after the expected one are dropped silently: the NAK that the peer has got.
  enum class NakState : uint8_t { kNothing, kSequenceError, kNotReady, kPagesAbsent };

  // A reply that waits for its pages. The peer gets a notice from time to time.
  struct ReplyWait {
    FaultTicket ticket;
    Psn first;  // of the reply
    Time since;
    Duration period = Duration::Max();  // between notices
    Time noticed_at;                    // when the last response or notice was sent
    Time notice_at = Time::Never();     // when the next notice is due
    bool notice_is_due = false;
  };
  struct Acknowledgement {
    Psn psn;
    wire::Msn msn;
    wire::Syndrome syndrome;
    bool is_for_pages = false;
    VendorError check = 0;  // that refused the peer's key
  };

  // responder.cc: the pipeline
  void OnExpected(const wire::Packet& packet, Step& step);
  void OnDuplicate(const wire::Packet& packet, Step& step);
  void OnAhead(Step& step);
  void Replay(Reply& reply, const wire::Packet& packet, Step& step);
  void Refuse(NakReason reason, Psn psn, wire::Msn msn, Step& step);
  void RefuseExpected(NakReason reason, const wire::Packet& packet, Step& step);
  void RefuseForPages(const wire::Packet& packet, Step& step);
  void HoldOrCountNak(bool ack_was_due, const Step& step);
  void ClearRefusal();
  void EndWait();
  wire::Syndrome SyndromeOf(NakReason reason, const Verdict& verdict, const Step& step) const;
  static VendorError CheckToName(NakReason reason);
  wire::RnrTimer PagesTimer(const Step& step) const;
  Duration ShareOfRetries() const;
  Duration HoldTime() const;
  bool has_due_nak() const { return nak_.has_value() && !wait_.nak_is_held(); }
  void Fail(NakReason reason, const Verdict& verdict, Step& step);
  FaultTicket RequestPages(const memory::Fault& fault, Step& step);
  void ExecuteHeld(Step& step);

  // responder_execute.cc: executes a request; returns nothing, or the reason for a refusal
  using Outcome = std::optional<NakReason>;
  Outcome CheckResources(const wire::Packet& packet, Step& step);
  bool TakeReceive(const wire::Packet& packet, Step& step);
  Outcome SelectReceiver(const wire::Packet& packet);
  Outcome Execute(const wire::Packet& packet, Step& step);
  Outcome ExecuteSend(const wire::Packet& packet, Step& step);
  Outcome ExecuteWrite(const wire::Packet& packet, Step& step);
  Outcome ExecuteRead(const wire::Packet& packet, Step& step);
  Outcome ExecuteAtomicOperation(const wire::Packet& packet, Step& step);
  Outcome ExecuteAtomicStore(const wire::Packet& packet, Step& step);
  Outcome ExecuteFlush(const wire::Packet& packet, Step& step);
  // `otherwise`: the error if the memory cannot be paged in.
  Outcome OutcomeOf(const Placement& placement, ResponderError otherwise, Step& step);
  Outcome WaitForPages(const memory::Fault& fault, ResponderError otherwise, Step& step);
  void EndMessage();
  void AddDueResponse(Reply reply, const RemoteRange& range, Step& step);
  void NoteProgress(Step& step);
  Outcome CompleteReceive(const wire::Packet& packet, uint32_t byte_count, Step& step);

  // responder_send.cc: sends responses
  bool IsHeld(const Reply& reply) const;
  bool SendNext(Step& step);
  bool SendReply(Reply& reply, Step& step);
  bool SendRead(Reply& reply, Step& step);
  bool HoldRead(const Reply& reply, const memory::Fault& beginning, Step& step);
  void NoticeHeldRead(const Step& step);
  void OnHeldReadAgain(const Step& step);
  bool SendNotice(const Reply& reply, Step& step);
  void RefuseReply(Reply& reply, NakReason reason, Step& step);
  void FailReply(const Reply& reply, NakReason reason, Step& step);
  void SendAcknowledgement(const Acknowledgement& answer, Step& step);
  void SendAtomicReply(const Reply& reply, Step& step);
  memory::Accessor AccessorOf(const Reply& reply) const;
  const wire::OpcodeInfo& InfoOf(wire::Operation operation,
                                 wire::Position position = wire::Position::kOnly) const;
  OutPacket& AddPacket(Psn psn, Step& step);
  static void MakeLastSingle(Step& step);
  wire::Bth BthOf(const wire::OpcodeInfo& info, Psn psn) const;

  RcConfig config_;
  const XrcReceivers* const xrc_receivers_ = nullptr;  // of an extended connection
  memory::Accessor who_;  // accessor of the message in progress; on an extended connection each
                          // message may differ
  ReceiveSlot receive_;   // of the message in progress

  Psn expected_;
  wire::Msn msn_;  // messages completed
  InboundMessage message_;
  ReplayCache replies_{0};
  SegmentProbe probe_;  // of the replies

  NakState nak_state_ = NakState::kNothing;
  std::optional<Acknowledgement> nak_;  // to be sent, unless it is delayed
  bool ack_is_due_ = false;             // of all packets before expected_
  bool ack_is_again_ = false;           // the peer has missed an acknowledgement
  Psn answered_;                        // the last packet that any response has covered
  InboundWait wait_;                    // of the expected packet for its pages
  uint8_t losses_ = 0;                  // pages that the message in progress has lost
  bool had_receive_fault_ = false;
  std::optional<ReplyWait> reply_wait_;
  uint64_t tickets_ = 0;
  std::optional<FatalRefusal> failure_;
};

}  // namespace verbena::transport
