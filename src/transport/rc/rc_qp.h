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
#include "transport/xrc/xrc_domain.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// A queue pair of the reliable connection service: its two halves, and the state that they share.
// Inputs change the halves; Run makes them send what follows, and must be called after every burst
// of inputs.
//
// An extended connection has only one half at each end: kXrcSend its requester, with no receive
// queue, and kXrcReceive its responder, with those of a domain.
//
// With a tag matching receive queue the responder finds what the requester then reads:
// TagRendezvous.
//
// Before it is destroyed it must have been in error and run, so that it holds no key of memory any
// more. Owned by the adapter; one thread at a time.
class RcQp {
 public:
  RcQp(const RcConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
       queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq)
      : requester_(config, send_queue, send_cq,
                   MakeRendezvous(config, send_queue, receives, receive_cq)),
        responder_(config, receives, receive_cq, rendezvous_ ? &*rendezvous_ : nullptr) {}
  // kXrcReceive: `send_queue` has no elements.
  RcQp(const RcConfig& config, queue::SendQueue& send_queue, queue::CompletionQueue& send_cq,
       const XrcDomain& receivers)
      : requester_(config, send_queue, send_cq), responder_(config, receivers) {}
  RcQp(const RcQp&) = delete;
  RcQp& operator=(const RcQp&) = delete;

  QpState state() const { return state_; }
  // In SQD, with work that is not at its end.
  bool is_draining() const { return state_ == QpState::kSqd && !requester_.is_drained(); }
  const RcConfig& config() const { return requester_.config(); }

  // What has become known since the queue pair was made. What is of the responder takes effect when
  // it becomes ready to receive, of the requester when it becomes ready to send; remote rights and
  // the RNR timer at once.
  void Configure(const RcConfig& config);

  // INIT -> RTR and RTR -> RTS: the peer's first sequence number, and ours.
  void BecomeReadyToReceive(Psn expected);
  void BecomeReadyToSend(Psn first);
  // RTS -> SQD: no work is begun, and what is begun goes on to its end, of which an event tells.
  void Drain(bool tells = true);
  // SQD -> RTS.
  void ResumeSends();
  // Any -> ERR. What is posted is flushed by the next Run, and so is what is posted later.
  void BecomeFailed() { state_ = QpState::kErr; }

  // A packet has arrived that names this queue pair.
  void OnPacket(const wire::Packet& packet, Step& step);
  void OnPagesReady(FaultTicket ticket, bool available, Step& step);
  void OnTime(Step& step);
  Time next_time() const { return std::min(requester_.next_time(), responder_.next_time()); }

  // A packet of the last Run is not sent, because memory that it names is gone (`is_loss`), or
  // because it is behind such a one of the same half. False if it must be sent all the same.
  bool TakeBack(const OutPacket& packet, bool is_loss, Step& step);

  // kXrcReceive: the queue is to leave the domain.
  void DropReceiver(const queue::SharedReceiveQueue& queue, Step& step) {
    responder_.DropReceiver(queue, step);
  }

  // Sends what may be sent, as far as the outbox has room. True when it has more.
  bool Run(Step& step);

  // For the prefetcher.
  queue::WqeNumber first_unsent() const { return requester_.first_unsent(); }
  bool TakeReceiveFault() { return responder_.TakeReceiveFault(); }
  queue::SharedReceiveQueue* shared_receives() const { return responder_.shared_receives(); }

  const Requester::Counters& requester_counters() const { return requester_.counters(); }

  // Why the responder ended the connection, if it did.
  const std::optional<FatalRefusal>& responder_failure() const { return responder_.failure(); }
  bool IsConsistent() const { return requester_.IsConsistent() && responder_.IsConsistent(); }

 private:
  // nullptr if the receives have no tags.
  TagRendezvous* MakeRendezvous(const RcConfig& config, queue::SendQueue& send_queue,
                                const ReceiveSource& receives, queue::CompletionQueue& cq) {
    if (receives.tags() == nullptr) return nullptr;
    return &rendezvous_.emplace(receives.AccessorFor(config.who), send_queue, *receives.tags(), cq);
  }
  bool Pump(Step& step);
  void ReportDrained(Step& step);
  bool ReportToPeer(Step& step);

  QpState state_ = QpState::kInit;
  bool has_heard_ = false;      // from the peer
  bool drain_is_told_ = false;  // since it last drained
  bool is_flushing_ = false;    // SQD after a registration that failed in reactive mode
  bool peer_is_told_ = false;   // that a registration has ended the connection
  std::optional<TagRendezvous> rendezvous_;  // what the two halves have to do with each other
  Requester requester_;
  Responder responder_;
};

}  // namespace verbena::transport
