#pragma once

#include <optional>

#include "base/time.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/outbox.h"
#include "transport/qp_state.h"
#include "transport/rc/receive_source.h"
#include "transport/turn.h"
#include "transport/uc/uc_config.h"
#include "transport/uc/uc_responder.h"
#include "transport/unreliable_sender.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// A queue pair of the unreliable connection service: its two halves, and the state that they share.
// Run must be called after every burst of inputs. Owned by the adapter; one thread at a time.
class UcQp {
 public:
  UcQp(const UcConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
       queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq);

  QpState state() const { return state_; }

  // INIT -> RTR and RTR -> RTS: the peer's first sequence number, and ours.
  void BecomeReadyToReceive(wire::Psn expected);
  void BecomeReadyToSend(wire::Psn first);
  // SQE -> RTS: the program has seen the error, and posts anew.
  void ResumeSends();
  // Any -> ERR. What is posted is flushed by the next Run, and so is what is posted later.
  void BecomeFailed() { state_ = QpState::kErr; }

  // A packet has arrived that names this queue pair.
  void OnPacket(const wire::Packet& packet, Turn& turn);
  void OnPagesReady(FaultTicket ticket, bool available, Turn& turn);
  void OnTime(Turn& turn) { sender_.OnTime(turn); }
  Time next_time() const { return sender_.next_time(); }

  // Sends what may be sent, as far as the outbox has room. True when it is to be called again once
  // the outbox is empty.
  bool Run(Turn& turn);

  const UcResponder::Counters& responder_counters() const { return responder_.counters(); }
  // Why the responder ended the connection, if it did.
  const std::optional<Cause>& responder_failure() const { return responder_.failure(); }
  bool IsConsistent() const { return sender_.IsConsistent() && responder_.IsConsistent(); }

 private:
  const UcConfig config_;
  QpState state_ = QpState::kInit;
  bool has_heard_ = false;  // from the peer
  UnreliableSender sender_;
  UcResponder responder_;
};

}  // namespace verbena::transport
