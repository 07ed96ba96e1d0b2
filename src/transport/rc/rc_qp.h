#pragma once

#include "base/time.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/outbox.h"
#include "transport/qp_state.h"
#include "transport/rc/rc_config.h"
#include "transport/rc/receive_source.h"
#include "transport/rc/requester.h"
#include "transport/rc/responder.h"
#include "transport/turn.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// A queue pair of the reliable connection service: its two halves, and the state that they share.
// Inputs change the halves; Run makes them send what follows, and must be called after every burst
// of inputs.
//
// Owned by the adapter; one thread at a time.
class RcQp {
 public:
  RcQp(const RcConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
       queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq)
      : config_(config),
        requester_(config, send_queue, send_cq),
        responder_(config, receives, receive_cq) {}

  QpState state() const { return state_; }

  // INIT -> RTR and RTR -> RTS: the peer's first sequence number, and ours.
  void BecomeReadyToReceive(wire::Psn expected);
  void BecomeReadyToSend(wire::Psn first);
  // Any -> ERR. What is posted is flushed by the next Run, and so is what is posted later.
  void BecomeFailed() { state_ = QpState::kErr; }

  // A packet has arrived that names this queue pair.
  void OnPacket(const wire::Packet& packet, Turn& turn);
  void OnPagesReady(FaultTicket ticket, bool available, Turn& turn);
  void OnTime(Turn& turn);
  Time next_time() const { return requester_.next_time(); }

  // Sends what may be sent, as far as the outbox has room. True when it has more.
  bool Run(Turn& turn);

  const Requester::Counters& requester_counters() const { return requester_.counters(); }

  // Why the responder ended the connection, if it did.
  const std::optional<Failure>& responder_failure() const { return responder_.failure(); }
  bool IsConsistent() const { return requester_.IsConsistent() && responder_.IsConsistent(); }

 private:
  const RcConfig config_;
  QpState state_ = QpState::kInit;
  bool has_heard_ = false;  // from the peer
  Requester requester_;
  Responder responder_;
};

}  // namespace verbena::transport
