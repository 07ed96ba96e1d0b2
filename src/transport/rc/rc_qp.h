#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/outbox.h"
#include "transport/common/qp_state.h"
#include "transport/common/receive_source.h"
#include "transport/common/rendezvous.h"
#include "transport/common/step.h"
#include "transport/rc/rc_config.h"
#include "transport/rc/requester.h"
#include "transport/rc/responder.h"
#include "transport/xrc/xrc_receivers.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// A queue pair of the reliable connection service: its two halves, and their common state. Inputs
// change the halves; Run sends the resulting packets, and must be called after every burst of
// inputs.
//
// An extended connection has one half at each end: kXrcSend has a requester and no receive queue,
// kXrcReceive has a responder with the receive queues of a domain.
//
// With a tag matching receive queue the responder starts reads that the requester executes:
// TagRendezvous.
//
// Before it is destroyed, it must be in error and run, so that it holds no key of memory. Owned by
// the adapter; used by one thread at a time.
class RcQp {
 public:
  RcQp(const RcConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
       queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq)
      : requester_(config, send_queue, send_cq,
                   MakeRendezvous(config, send_queue, receives, receive_cq)),
        responder_(config, receives, receive_cq, rendezvous_ ? &*rendezvous_ : nullptr) {}
  // kXrcReceive: `send_queue` has no elements.
  RcQp(const RcConfig& config, queue::SendQueue& send_queue, queue::CompletionQueue& send_cq,
       const XrcReceivers& receivers)
      : requester_(config, send_queue, send_cq), responder_(config, receivers) {}
  RcQp(const RcQp&) = delete;
  RcQp& operator=(const RcQp&) = delete;

  QpState state() const { return state_; }
  // In SQD, with work that has not completed.
  bool is_draining() const { return state_ == QpState::kSqd && !requester_.is_drained(); }
  const RcConfig& config() const { return requester_.config(); }

  // Sets attributes that became known after construction. Those of the responder take effect on the
  // transition to RTR, those of the requester on the transition to RTS; remote rights and the RNR
  // timer at once.
  void Configure(const RcConfig& config);

  // INIT -> RTR and RTR -> RTS: the first sequence number of the peer, and of this side.
  void BecomeReadyToReceive(Psn expected);
  void BecomeReadyToSend(Psn first);
  // RTS -> SQD: no new element is started, and those that were started are finished. Then an event
  // is raised, if `notify`.
  void Drain(bool notify = true);
  // SQD -> RTS.
  void ResumeSends();
  // Any -> ERR. Elements that are posted, now or later, are flushed by the next Run.
  void BecomeFailed() { state_ = QpState::kErr; }

  // A packet for this queue pair has arrived.
  void OnPacket(const wire::Packet& packet, Step& step);
  void OnPagesReady(FaultTicket ticket, bool available, Step& step);
  void OnTime(Step& step);
  Time next_time() const { return std::min(requester_.next_time(), responder_.next_time()); }

  // A packet of the last Run is not sent, because memory that it refers to is gone (`is_loss`), or
  // because an earlier packet of the same half is not sent. False if it must be sent nevertheless.
  bool TakeBack(const OutPacket& packet, bool is_loss, Step& step);

  // kXrcReceive: the queue is about to leave the domain.
  void DropReceiver(const queue::SharedReceiveQueue& queue, Step& step) {
    responder_.DropReceiver(queue, step);
  }

  // Sends as much as the state and the room in the outbox allow. True if there is more to send.
  bool Run(Step& step);

  // For the prefetcher.
  queue::WqeNumber first_unsent() const { return requester_.first_unsent(); }
  bool TakeReceiveFault() { return responder_.TakeReceiveFault(); }
  queue::SharedReceiveQueue* shared_receives() const { return responder_.shared_receives(); }

  const Requester::Counters& requester_counters() const { return requester_.counters(); }

  // The responder has ended the connection, and responses to earlier requests, or the NAK, are
  // still to be sent: the queue pair goes into error after them.
  bool ends_after_responses() const {
    return responder_.failure().has_value() && responder_.has_responses_due();
  }
  // Why the responder ended the connection; nullopt if it did not.
  const std::optional<FatalRefusal>& responder_failure() const { return responder_.failure(); }
  bool IsConsistent() const { return requester_.IsConsistent() && responder_.IsConsistent(); }

 private:
  // nullptr if the receive queue does no tag matching.
  TagRendezvous* MakeRendezvous(const RcConfig& config, queue::SendQueue& send_queue,
                                const ReceiveSource& receives, queue::CompletionQueue& cq) {
    if (receives.tags() == nullptr) return nullptr;
    return &rendezvous_.emplace(receives.AccessorFor(config.who), send_queue, *receives.tags(), cq);
  }
  bool Pump(Step& step);
  void ReportDrained(Step& step);
  bool ReportToPeer(Step& step);

  QpState state_ = QpState::kInit;
  bool has_received_ = false;        // a packet of the peer has arrived
  bool drain_was_reported_ = false;  // the event of the present drain was raised
  bool is_flushing_ = false;         // SQD after a registration that failed in reactive mode
  bool peer_was_notified_ = false;   // the NAK for a failed registration was sent
  std::optional<TagRendezvous> rendezvous_;  // starts work of the requester for the responder
  Requester requester_;
  Responder responder_;
};

}  // namespace verbena::transport
