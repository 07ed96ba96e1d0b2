#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

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

// Unreliable connection: one peer.
struct ConnectedPeer {
  QpNumber qp = {};
  PathId path = {};
};

// Unreliable datagram: each request names its destination. Does not own the handles.
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

// The sending half of an unreliable queue pair: turns the elements of a send queue into packets,
// for which there is no response.
class UnreliableSender {
 public:
  UnreliableSender(const SenderConfig& config, queue::SendQueue& queue, queue::CompletionQueue& cq);

  // Sets what may change after construction: the peer, its path, the Q_Key.
  void Configure(const SenderConfig& config);

  void Start(Psn first) { next_psn_ = first; }

  // Completes what earlier steps sent, and sends as much as the state and the room in the outbox
  // allow. Starts no new element unless `may_begin`. REQUIRES: the outbox was drained since the
  // last call.
  void Pump(Step& step, bool may_begin = true);
  // Whether Pump would do something in a later step.
  [[nodiscard]] bool wants_step(bool may_begin = true) const;
  // All elements that were started have completed.
  [[nodiscard]] bool is_drained() const {
    return queue_.begin() == position_.wqe && !has_begun() && !failure_;
  }

  // Must be called at next_time() or later.
  void OnTime(Step& step);
  [[nodiscard]] Time next_time() const { return delayed_until_; }

  // Pages requested in the outbox are present, or cannot be paged in. A ticket of another machine
  // is ignored.
  void OnPagesReady(FaultTicket ticket, bool available);

  // A packet of the last Pump was not sent: because one of its pages is gone (`is_loss`), or
  // because an earlier packet was not sent. It is sent after the pages are paged in; if they cannot
  // be, its element fails.
  void TakeBack(Psn psn, bool is_loss);

  // Completes what was sent, and flushes the rest. Must be called again after more is posted.
  // REQUIRES: as Pump.
  void Flush(Step& step);

  // An element has failed: nothing is sent until Resume.
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  // A completion found no room in its queue: the queue pair cannot continue.
  [[nodiscard]] bool has_lost_completion() const { return has_lost_completion_; }
  // The failed element was to register memory, and sent nothing.
  [[nodiscard]] bool failed_to_register() const { return has_failed_ && failed_to_register_; }
  [[nodiscard]] RegistrationMode registration() const { return config_.registration; }
  void Resume() { has_failed_ = failed_to_register_ = false; }

  [[nodiscard]] bool IsConsistent() const;

 private:
  struct Destination {
    QpNumber qp;
    PathId path;
    std::optional<wire::Deth> deth;
    uint32_t payload_max = 0;  // of a packet
  };
  struct Position {
    queue::WqeNumber wqe;
    uint32_t packet = 0;  // index in the element
  };
  struct Losses {
    queue::WqeNumber wqe;
    uint8_t count = 0;  // pages of the element lost so far
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

  LocalWork local_work_;
  Position position_;
  Psn next_psn_;
  std::optional<FaultTicket> stall_;  // the wait for the pages of a payload
  std::optional<LocalOutcome>
      failure_;  // of the element at position_; completes after the elements before it
  Time delayed_until_ = Time::Never();
  uint64_t tickets_ = 0;
  queue::WqeNumber begun_;  // elements before it were started, including those that were taken back
  Losses losses_;           // of the last element that lost pages
  bool has_failed_ = false;
  bool failed_to_register_ = false;  // the element that failed, or is about to fail
  bool has_lost_completion_ = false;
};

}  // namespace verbena::transport
