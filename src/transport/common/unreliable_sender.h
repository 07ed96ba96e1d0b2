#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/time.h"
#include "memory/access.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/address_handles.h"
#include "transport/common/local_work.h"
#include "transport/common/outbox.h"
#include "transport/common/step.h"
#include "verbena/qp_state.h"
#include "wire/roce/deth.h"
#include "wire/roce/opcode.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// Unreliable connection: all goes to one peer.
struct ConnectedPeer {
  QpNumber qp = {};
  PathId path = {};
};

// Unreliable datagram: each request names whom it goes to. Does not own the handles.
struct DatagramPeers {
  const AddressHandles* handles = nullptr;
  QKey q_key = {};  // of this queue pair
};

struct SenderConfig {
  QpNumber local_qp = {};
  wire::PKey p_key = wire::kDefaultPKey;
  uint32_t path_mtu = 1024;
  memory::Accessor who = {};
  RegistrationMode registration = RegistrationMode::kDisabled;
  std::variant<ConnectedPeer, DatagramPeers> peers = {};
};

// The sending half of an unreliable queue pair: turns the elements of a send queue into packets, of
// which it hears nothing more.
//
//        begin()                position_                end()
//   done | sent, completes next | being sent, then posted | free
//   -----+----------------------+-------------------------+----->  WqeNumber
//
// An element completes in the step after the one that sent its last packet: the outbox names the
// payload where it lies, and a program that has seen the completion may write there. Until then a
// packet can be taken back.
//
// Owned by its queue pair; one thread at a time.
class UnreliableSender {
 public:
  UnreliableSender(const SenderConfig& config, queue::SendQueue& queue, queue::CompletionQueue& cq);

  // What has changed since it was made: the peer, its path, the Q_Key.
  void Configure(const SenderConfig& config);

  void Start(Psn first) { next_psn_ = first; }

  // Completes what earlier steps sent, and sends what may be sent now, as far as the outbox has
  // room; unless it `may_begin`, no element that was not begun. REQUIRES: the outbox was emptied
  // since the last call.
  void Pump(Step& step, bool may_begin = true);
  // Pump would do something in a later step.
  [[nodiscard]] bool wants_step(bool may_begin = true) const;
  // All that was begun has completed.
  [[nodiscard]] bool is_drained() const {
    return queue_.begin() == position_.wqe && !has_begun() && !failure_;
  }

  // To be called at next_time(), or later.
  void OnTime(Step& step);
  [[nodiscard]] Time next_time() const { return delayed_until_; }

  // Pages that were asked for in the outbox are there, or are not to be had. A ticket that is not
  // of this sender is ignored.
  void OnPagesReady(FaultTicket ticket, bool available);

  // A packet of the last Pump was not sent, because a page of it is gone (`is_loss`), or because it
  // is behind such a one. It is sent once the pages are there; if they are not to be had, its
  // element fails.
  void TakeBack(Psn psn, bool is_loss);

  // What was sent completes, all else ends as flushed. To be called again when more was posted
  // since. REQUIRES: as Pump.
  void Flush(Step& step);

  // An element has ended in error: nothing is sent until Resume.
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  // A completion found no room in its queue: the queue pair goes on no more.
  [[nodiscard]] bool has_lost_completion() const { return has_lost_completion_; }
  // It was to register memory, and did not get as far as the wire.
  [[nodiscard]] bool failed_to_register() const { return has_failed_ && failed_to_register_; }
  [[nodiscard]] RegistrationMode registration() const { return config_.registration; }
  void Resume() { has_failed_ = failed_to_register_ = false; }

  [[nodiscard]] bool IsConsistent() const;

 private:
  struct Destination {
    QpNumber qp;
    PathId path;
    std::optional<wire::Deth> deth;
    uint32_t payload_max = 0;  // of a datagram
  };
  struct Position {
    queue::WqeNumber wqe;
    uint32_t packet = 0;  // of the element
  };
  struct Losses {
    queue::WqeNumber wqe;
    uint8_t count = 0;  // of pages under it
  };
  using Status = CompletionStatus;

  wire::Service service() const;
  bool has_begun() const { return position_.wqe < begun_; }
  uint32_t PacketCountAt(queue::WqeNumber n) const;
  bool CanGoOn(bool may_begin) const;
  bool Advance(Step& step);
  LocalOutcome Begin(const queue::SendWqe& wqe, Step& step);
  std::optional<Destination> DestinationOf(const queue::SendWqe& wqe) const;
  bool SendPacket(uint32_t count, Step& step);
  bool GatherPayload(uint64_t offset, uint32_t size, OutPacket& packet, Step& step);
  void WriteHeaders(const wire::OpcodeInfo& info, const Destination& to, OutPacket& packet) const;
  void Rewind(Psn psn);
  bool MayLose();
  void BeginAnew();
  void CompleteSent(Step& step);
  void CompleteFailed(Step& step);
  void CompleteOldest(const LocalOutcome& outcome, Step& step);
  void FailForLostCompletion(Step& step);

  SenderConfig config_;
  queue::SendQueue& queue_;
  queue::CompletionQueue& cq_;

  Position position_;
  Psn next_psn_;
  std::optional<FaultTicket> stall_;     // waits for pages to send from
  std::optional<LocalOutcome> failure_;  // of the element at position_, to be told in its turn
  Time delayed_until_ = Time::Never();
  std::vector<memory::PhysicalAddress> page_list_;  // of a registration; kept for its capacity
  uint64_t tickets_ = 0;
  queue::WqeNumber begun_;  // elements before it were begun, also those that were taken back
  Losses losses_;           // of the element that had some last
  bool has_failed_ = false;
  bool failed_to_register_ = false;  // the element that failed, or is about to
  bool has_lost_completion_ = false;
};

}  // namespace verbena::transport
