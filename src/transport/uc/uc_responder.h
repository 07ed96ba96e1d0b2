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

// The receiving half of an unreliable connection: executes what arrives whole and in order, and
// answers nothing.
//
// IBA 9.8.2.2 and 9.9.3, of all that the peer or the path can do wrong (a hole in the sequence, a
// wrong key, no receive request): the message is dropped silently, a receive request that it had
// begun serves the next, and the first packet of a later message is waited for. The queue pair goes
// on. What is wrong on this side (a receive buffer that is too short or not its own, a completion
// queue without room) ends the receive request in error and the queue pair with it.
//
// Owned by its queue pair; one thread at a time.
class UcResponder {
 public:
  UcResponder(const UcConfig& config, ReceiveSource source, queue::CompletionQueue& receive_cq)
      : config_(config), receive_(config.local_qp, source, receive_cq) {}

  // What has become known, or has changed.
  void Configure(const UcConfig& config) { config_ = config; }

  // The first packet will have this number.
  void Start(Psn expected) { expected_ = expected; }

  // A packet has arrived for this queue pair. What is not of this service is dropped.
  void OnPacket(const wire::Packet& packet, Step& step);

  // Pages that were asked for in the outbox are there, or are not to be had. A ticket that is not
  // of this responder is ignored.
  void OnPagesReady(FaultTicket ticket, bool available, Step& step);

  // Executes some of what waited. True when it is to be called again, for the rest.
  bool Run(Step& step) { return has_held() && ServeHeld(step); }

  // Packets have arrived that are not served yet.
  [[nodiscard]] bool has_held() const { return !held_.empty(); }

  // All receive requests end as flushed: the queue pair is in error.
  void Flush(Step& step);

  // Set once the queue pair must go to the error state.
  [[nodiscard]] const std::optional<NakReason>& failure() const { return failure_; }

  // Messages that were dropped, since the start, by why.
  struct Counters {
    uint64_t out_of_sequence = 0;  // a hole, or a middle without a first
    uint64_t no_receive = 0;
    uint64_t pages_absent = 0;  // and not to be had, or too much waited for them
    uint64_t refused = 0;       // key, rights or length
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

  [[nodiscard]] bool IsConsistent() const;

 private:
  using Outcome = std::optional<NakReason>;
  struct PageWait {
    FaultTicket ticket;
    bool is_of_receive = false;  // the pages are those of the receive request that is taken
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
  bool is_dropping_ = false;  // what is left of a message of which the loss is counted
  HeldPackets held_;          // in the order in which they came; they are served before others
  std::optional<PageWait> page_wait_;  // of the first one
  uint8_t losses_ = 0;                 // of pages under it
  uint64_t tickets_ = 0;
  std::optional<NakReason> failure_;
  Counters counters_;
};

}  // namespace verbena::transport
