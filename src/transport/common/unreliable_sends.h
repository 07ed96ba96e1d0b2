#pragma once

#include "base/check.h"
#include "base/time.h"
#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/outbox.h"
#include "transport/common/qp_state.h"
#include "transport/common/step.h"
#include "transport/common/unreliable_sender.h"
#include "wire/roce/bth.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// The state and the sending half of an unreliable queue pair: the common part of unreliable
// connections and datagrams.
//
// Owned by its queue pair; used by one thread at a time.
class UnreliableSends {
 public:
  UnreliableSends(const SenderConfig& config, queue::SendQueue& queue, queue::CompletionQueue& cq)
      : qp_(config.local_qp), sender_(config, queue, cq) {}

  QpState state() const { return state_; }
  bool is_draining() const { return state_ == QpState::kSqd && !sender_.is_drained(); }
  void Configure(const SenderConfig& config) { sender_.Configure(config); }

  void BecomeReadyToReceive() {
    CHECK(state_ == QpState::kInit);
    state_ = QpState::kRtr;
  }
  void BecomeReadyToSend(Psn first) {
    CHECK(state_ == QpState::kRtr);
    state_ = QpState::kRts;
    sender_.Start(first);
  }
  void Drain(bool notify) {
    CHECK(state_ == QpState::kRts);
    state_ = QpState::kSqd;
    drain_was_reported_ = !notify;
  }
  void Resume() {
    CHECK(state_ == QpState::kSqe || state_ == QpState::kSqd);
    if (state_ == QpState::kSqe || is_flushing_) sender_.Resume();
    is_flushing_ = false;
    state_ = QpState::kRts;
  }
  void Fail() { state_ = QpState::kErr; }

  void OnPagesReady(FaultTicket ticket, bool available) { sender_.OnPagesReady(ticket, available); }
  void TakeBack(const OutPacket& packet, bool is_loss) {
    sender_.TakeBack(wire::Bth::Parse(packet.header)->psn, is_loss);
  }
  void OnTime(Step& step) { sender_.OnTime(step); }
  Time next_time() const { return sender_.next_time(); }

  // Sends as much as the state allows, or flushes. True if it must be called again after the outbox
  // is drained.
  bool Run(Step& step) {
    if (FinishesSends(state_)) sender_.Pump(step, StartsSends(state_));
    if (FinishesSends(state_) && sender_.has_failed() && !is_flushing_) OnFailure();
    if (FlushesSends(state_) || is_flushing_) sender_.Flush(step);
    if (sender_.has_lost_completion()) state_ = QpState::kErr;
    if (state_ == QpState::kSqd) ReportDrained(step);
    return FinishesSends(state_) && sender_.wants_step(StartsSends(state_));
  }

  bool IsConsistent() const { return sender_.IsConsistent(); }

 private:
  void OnFailure() {
    const bool keeps_mode = sender_.failed_to_register();
    if (keeps_mode && sender_.registration() == RegistrationMode::kAnticipatory) {
      state_ = QpState::kErr;
    } else if (keeps_mode && sender_.registration() == RegistrationMode::kReactive) {
      state_ = QpState::kSqd;
      is_flushing_ = true;
      drain_was_reported_ = false;
    } else {
      state_ = QpState::kSqe;
    }
  }

  // IBA 10.3.1.5: one event per drain.
  void ReportDrained(Step& step) {
    if (drain_was_reported_ || !sender_.is_drained()) return;
    drain_was_reported_ = true;
    step.outbox.Raise({AsyncEventType::kSendQueueDrained, qp_});
  }

  const QpNumber qp_;
  QpState state_ = QpState::kInit;
  bool drain_was_reported_ = false;  // the event of the present drain was raised
  bool is_flushing_ = false;         // SQD after a registration that failed in reactive mode
  UnreliableSender sender_;
};

}  // namespace verbena::transport
