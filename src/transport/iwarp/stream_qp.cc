#include "transport/iwarp/stream_qp.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::transport {

StreamQp::StreamQp(const StreamQpConfig& config, queue::SendQueue& send_queue,
                   ReceiveSource receives, queue::CompletionQueue& send_cq,
                   queue::CompletionQueue& receive_cq)
    : config_(config),
      sender_(config, send_queue, send_cq),
      receiver_(config, receives, receive_cq) {}

void StreamQp::Configure(const StreamQpConfig& config) {
  CHECK(config.local_qp == config_.local_qp);
  config_ = config;
  sender_.Configure(config);
  receiver_.Configure(config);
}

void StreamQp::Connect(SendBuffer& out) {
  CHECK(state_ == QpState::kInit);
  sender_.Start();
  receiver_.Start();
  out_ = &out;
  next_ = {};
  state_ = QpState::kRts;
}

void StreamQp::Drain(bool notify) {
  CHECK(state_ == QpState::kRts);
  state_ = QpState::kSqd;
  drain_was_reported_ = !notify;
}

void StreamQp::ResumeSends() {
  CHECK(state_ == QpState::kSqd);
  state_ = QpState::kRts;
  is_flushing_ = false;
}

// One event per drain.
void StreamQp::ReportDrained(Step& step) {
  if (drain_was_reported_ || !sender_.is_drained()) return;
  drain_was_reported_ = true;
  step.outbox.Raise({AsyncEventType::kSendQueueDrained, config_.local_qp});
}

size_t StreamQp::OnBytes(wire::StreamOffset at, std::span<const std::byte> bytes, Step& step) {
  if (out_ == nullptr || !TakesRequests(state_)) return bytes.size();
  if (at > next_) return 0;
  // Bytes that were taken before may come again.
  const size_t before = std::min<uint64_t>(BytesBetween(at, next_), bytes.size());
  if (before == bytes.size()) return before;
  const size_t taken = receiver_.OnBytes(bytes.subspan(before), step);
  next_ = next_ + taken;
  DCHECK(IsConsistent());
  return before + taken;
}

void StreamQp::OnPeerEnd() {
  if (TakesRequests(state_)) receiver_.OnPeerEnd();
}

void StreamQp::OnStreamEnd() {
  must_reset_ = must_reset();
  out_ = nullptr;
  if (state_ != QpState::kInit) state_ = QpState::kErr;
}

void StreamQp::OnPagesReady(FaultTicket ticket, bool available, Step& step) {
  sender_.OnPagesReady(ticket, available);
  receiver_.OnPagesReady(ticket, available, step);
}

// Both directions have ended in order.
void StreamQp::EndIfDone() {
  if (sender_.end_is_sent() && sender_.is_drained() && receiver_.end_was_reported()) {
    state_ = QpState::kErr;
  }
}

bool StreamQp::Run(Step& step) {
  if (out_ != nullptr && FinishesSends(state_)) {
    sender_.Pump(*out_, StartsSends(state_), step);
    sender_.CompleteDone(out_->size(), step);
    receiver_.CompleteEnded(step);
    EndIfDone();
  }
  if (sender_.TakeSqdFailure()) {
    state_ = QpState::kSqd;
    is_flushing_ = true;
    drain_was_reported_ = false;
  }
  if (is_flushing_ && state_ == QpState::kSqd) sender_.FlushPosted(step);
  if (state_ == QpState::kSqd) ReportDrained(step);
  if (state_ != QpState::kErr && (sender_.has_failed() || receiver_.has_failed())) {
    must_reset_ = true;
    state_ = QpState::kErr;
  }
  if (state_ == QpState::kErr) {
    sender_.Flush(step);
    receiver_.Flush(step);
  }
  DCHECK(IsConsistent());
  return false;
}

bool StreamQp::IsConsistent() const {
  if (out_ != nullptr && state_ == QpState::kInit) return false;
  return sender_.IsConsistent() && receiver_.IsConsistent();
}

}  // namespace verbena::transport
