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

// A queue pair of the unreliable connection service: its two halves, and their common state. Run
// must be called after every burst of inputs. Owned by the adapter; used by one thread at a time.
class UcQp {
 public:
  UcQp(const UcConfig& config, queue::SendQueue& send_queue, ReceiveSource receives,
       queue::CompletionQueue& send_cq, queue::CompletionQueue& receive_cq);

  QpState state() const { return sends_.state(); }

  // Sets attributes that became known after construction, or changed. Takes effect between
  // messages.
  void Configure(const UcConfig& config);

  // INIT -> RTR and RTR -> RTS: the first sequence number of the peer, and of this side.
  void BecomeReadyToReceive(Psn expected);
  void BecomeReadyToSend(Psn first) { sends_.BecomeReadyToSend(first); }
  // RTS -> SQD: no new element is started, and those that were started are finished. Then an event
  // is raised, if `notify`.
  bool is_draining() const { return sends_.is_draining(); }
  void Drain(bool notify = true) { sends_.Drain(notify); }
  // SQD -> RTS; SQE -> RTS: the program has seen the error, and posts again.
  void ResumeSends() { sends_.Resume(); }
  // Any -> ERR. Elements that are posted, now or later, are flushed by the next Run.
  void BecomeFailed() { sends_.Fail(); }

  // A packet for this queue pair has arrived.
  void OnPacket(const wire::Packet& packet, Step& step);
  void OnPagesReady(FaultTicket ticket, bool available, Step& step);
  // A packet of the last Run was not sent; see UnreliableSender. It is sent later.
  void TakeBack(const OutPacket& packet, bool is_loss) { sends_.TakeBack(packet, is_loss); }
  void OnTime(Step& step) { sends_.OnTime(step); }
  Time next_time() const { return sends_.next_time(); }

  // Sends as much as the state and the room in the outbox allow. True if it must be called again
  // after the outbox is drained.
  bool Run(Step& step);

  // Packets that have arrived wait for pages, or for the next Run.
  bool has_held() const { return responder_.has_held(); }
  const UcResponder::Counters& responder_counters() const { return responder_.counters(); }
  // Why the responder ended the connection; nullopt if it did not.
  const std::optional<NakReason>& responder_failure() const { return responder_.failure(); }
  bool IsConsistent() const { return sends_.IsConsistent() && responder_.IsConsistent(); }

 private:
  const QpNumber qp_;
  bool has_received_ = false;  // a packet of the peer has arrived
  UnreliableSends sends_;
  UcResponder responder_;
};

}  // namespace verbena::transport
