#pragma once

#include <optional>

#include "base/time.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/outbox.h"
#include "transport/common/qp_state.h"
#include "transport/common/receive_source.h"
#include "transport/common/step.h"
#include "transport/common/unreliable_sends.h"
#include "transport/uc/uc_config.h"
#include "transport/uc/uc_responder.h"
#include "wire/roce/packet.h"

namespace verbena::transport {

// A queue pair of the unreliable connection service: its two halves, and the state that they share.
// Run must be called after every burst of inputs. Owned by the adapter; one thread at a time.
class UcQp {
 public:
  UcQp(const UcConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
       queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq);

  QpState state() const { return sends_.state(); }

  // What has become known since the queue pair was made, or has changed. Between messages.
  void Configure(const UcConfig& config);

  // INIT -> RTR and RTR -> RTS: the peer's first sequence number, and ours.
  void BecomeReadyToReceive(Psn expected);
  void BecomeReadyToSend(Psn first) { sends_.BecomeReadyToSend(first); }
  // RTS -> SQD: no work is begun, and what is begun goes on to its end, of which an event tells.
  bool is_draining() const { return sends_.is_draining(); }
  void Drain(bool tells = true) { sends_.Drain(tells); }
  // SQD -> RTS; SQE -> RTS: the program has seen the error, and posts anew.
  void ResumeSends() { sends_.Resume(); }
  // Any -> ERR. What is posted is flushed by the next Run, and so is what is posted later.
  void BecomeFailed() { sends_.Fail(); }

  // A packet has arrived that names this queue pair.
  void OnPacket(const wire::Packet& packet, Step& step);
  void OnPagesReady(FaultTicket ticket, bool available, Step& step);
  // A packet of the last Run was not sent; see UnreliableSender. It is sent later.
  void TakeBack(const OutPacket& packet, bool is_loss) { sends_.TakeBack(packet, is_loss); }
  void OnTime(Step& step) { sends_.OnTime(step); }
  Time next_time() const { return sends_.next_time(); }

  // Sends what may be sent, as far as the outbox has room. True when it is to be called again once
  // the outbox is empty.
  bool Run(Step& step);

  // Packets have arrived that wait for pages, or for the next Run.
  bool has_held() const { return responder_.has_held(); }
  const UcResponder::Counters& responder_counters() const { return responder_.counters(); }
  // Why the responder ended the connection, if it did.
  const std::optional<NakReason>& responder_failure() const { return responder_.failure(); }
  bool IsConsistent() const { return sends_.IsConsistent() && responder_.IsConsistent(); }

 private:
  const QpNumber qp_;
  bool has_heard_ = false;  // from the peer
  UnreliableSends sends_;
  UcResponder responder_;
};

}  // namespace verbena::transport
