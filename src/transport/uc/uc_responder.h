#pragma once

#include <cstdint>
#include <optional>

#include "queue/completion_queue.h"
#include "transport/common/held_packets.h"
#include "transport/common/placement.h"
#include "transport/common/receive_slot.h"
#include "transport/common/receive_source.h"
#include "transport/common/responder_checks.h"
#include "transport/common/step.h"
#include "transport/common/verdict.h"
#include "transport/uc/uc_config.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// The receiving half of an unreliable connection: executes messages that arrive completely and in
// order, and sends no responses.
//
// IBA 9.8.2.2 and 9.9.3: on an error of the peer or the path (a gap in the sequence, a wrong key,
// no receive request) the message is dropped silently. A receive request that it used serves the
// next message, which begins with the next first packet. The queue pair continues. An error of this
// side (a receive buffer of another domain, a completion queue without room) completes the receive
// request in error, and the queue pair goes into error.
//
// Owned by its queue pair; used by one thread at a time.
class UcResponder {
 public:
  UcResponder(const UcConfig& config, ReceiveSource source, queue::CompletionQueue& receive_cq)
      : config_(config), receive_(config.local_qp, source, receive_cq) {}

  // Sets attributes that became known or changed.
  void Configure(const UcConfig& config) { config_ = config; }

  // The first packet has this number.
  void Start(Psn expected) { expected_ = expected; }

  // A packet for this queue pair has arrived. Packets of other services are dropped.
  void OnPacket(const wire::Packet& packet, Step& step);

  // Pages requested in the outbox are present, or cannot be paged in. A ticket of another machine
  // is ignored.
  void OnPagesReady(FaultTicket ticket, bool available, Step& step);

  // Executes some of the held packets. True if it must be called again for the rest.
  bool Run(Step& step) { return has_held() && ServeHeld(step); }

  // Packets have arrived that are not executed yet.
  [[nodiscard]] bool has_held() const { return !held_.empty(); }

  // Flushes all receive requests, because the queue pair is in error.
  void Flush(Step& step);

  // Set when the queue pair must go to the error state.
  [[nodiscard]] const std::optional<NakReason>& failure() const { return failure_; }

  // Messages dropped since the start, by reason.
  struct Counters {
    uint64_t out_of_sequence = 0;  // a gap, or a middle without a first
    uint64_t no_receive = 0;
    uint64_t pages_absent = 0;  // and cannot be paged in, or too many packets wait
    uint64_t refused = 0;       // key, rights or length
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

  [[nodiscard]] bool IsConsistent() const;

 private:
  using Outcome = std::optional<NakReason>;
  struct PageWait {
    FaultTicket ticket;
    bool is_of_receive = false;  // the pages belong to the receive request in progress
  };

  bool Follows(const wire::Packet& packet);
  bool Serve(const wire::Packet& packet, Step& step);
  void Hold(const wire::Packet& packet);
  bool ServeHeld(Step& step);
  void DropOldest();
  void Forget();
  Outcome Execute(const wire::Packet& packet, Step& step);
  Outcome ExecuteSend(const wire::Packet& packet, Step& step);
  Outcome ExecuteWrite(const wire::Packet& packet, Step& step);
  Outcome OutcomeOf(const Placement& placement, bool is_of_receive, Step& step);
  Outcome WaitForPages(const memory::Fault& fault, bool is_of_receive, Step& step);
  Outcome CompleteReceive(const wire::Packet& packet, uint32_t byte_count, Step& step);
  void Refuse(NakReason reason, Step& step);
  void Drop();
  void Fail(NakReason reason, Step& step);

  UcConfig config_;
  ReceiveSlot receive_;
  Psn expected_;
  InboundMessage message_;
  bool is_dropping_ = false;           // drops the rest of a message that is counted as lost
  HeldPackets held_;                   // in the order of arrival; they are executed before others
  std::optional<PageWait> page_wait_;  // of the first held packet
  uint8_t losses_ = 0;                 // pages that the first held packet has lost
  uint64_t tickets_ = 0;
  std::optional<NakReason> failure_;
  Counters counters_;
};

}  // namespace verbena::transport
