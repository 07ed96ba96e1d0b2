// The receiving part of iwarp_requester.h: responses of the peer, and completions.

#include <algorithm>

#include "base/check.h"
#include "queue/sge_cursor.h"
#include "transport/common/complete.h"
#include "transport/common/placement.h"
#include "transport/iwarp/iwarp_requester.h"
#include "wire/iwarp/rdmap_atomic.h"

namespace verbena::transport {

using queue::WqeNumber;

// RFC 5040, 5.2: responses come in the order of the requests, and their segments, too. So the next
// one is of the oldest read, and continues where the last one ended.
SegmentOutcome IwarpRequester::OnReadResponse(const wire::DdpTagged& header,
                                              std::span<const std::byte> payload,
                                              const SegmentPlace& place, Step& step) {
  OutboundRead* const read = reads_.front();
  if (read == nullptr || read->is_atomic || read->sink != header.stag) {
    return StreamError::kNoSuchRead;
  }
  const uint32_t left = read->length - read->received;
  const bool fits = header.offset.value() == read->received && payload.size() <= left &&
                    header.control.last == (payload.size() == left);
  if (!fits) return StreamError::kReadBounds;
  if (!place.is_placed && !payload.empty()) {
    if (const auto no = Scatter(*read, read->received, payload, step)) return no;
  }
  read->received += static_cast<uint32_t>(payload.size());
  if (header.control.last) EndResponse(step);
  return std::nullopt;
}

SegmentOutcome IwarpRequester::OnAtomicResponse(const wire::DdpUntagged& header,
                                                std::span<const std::byte> body, Step& step) {
  const auto response = wire::RdmapAtomicResponse::Parse(body);
  if (!response || !header.control.last) return StreamError::kSegmentTooShort;
  if (header.msn != next_atomic_response_) return StreamError::kMsnRange;
  if (header.offset.value() != 0) return StreamError::kMessageOffset;
  const OutboundRead* const read = reads_.front();
  const bool is_expected =
      read != nullptr && read->is_atomic && response->id.value() == read->msn.value();
  if (!is_expected) return StreamError::kUnexpectedOpcode;
  // The program reads the value in the byte order of its machine.
  const auto bytes = std::as_bytes(std::span(&response->original, 1));
  if (const auto no = Scatter(*read, 0, bytes, step)) return no;
  ++next_atomic_response_;
  EndResponse(step);
  return std::nullopt;
}

bool IwarpRequester::OnEarlyResponse(const wire::DdpTagged& header,
                                     std::span<const std::byte> payload, Step& step) {
  const OutboundRead* const read = reads_.Find(header.stag);
  if (read == nullptr || payload.empty()) return false;
  const uint64_t offset = header.offset.value();
  const bool fits =
      offset >= read->received && offset <= read->length && payload.size() <= read->length - offset;
  if (!fits) return false;
  queue::SgeCursor cursor(queue_.SgesAt(read->wqe));
  cursor.Seek(offset);
  const Placement placed = ScatterSend(cursor, payload, 0, config_.who, step.memory);
  return std::holds_alternative<Placed>(placed);
}

// Writes bytes of a response to the memory of its element.
SegmentOutcome IwarpRequester::Scatter(const OutboundRead& read, uint64_t offset,
                                       std::span<const std::byte> bytes, Step& step) {
  queue::SgeCursor cursor(queue_.SgesAt(read.wqe));
  cursor.Seek(offset);
  const Placement placed =
      ScatterSend(cursor, bytes, queue_.LengthAt(read.wqe) - offset, config_.who, step.memory);
  if (std::holds_alternative<Placed>(placed)) return std::nullopt;
  if (const auto* const fault = std::get_if<memory::Fault>(&placed)) {
    scatter_wait_ = WaitFor(*fault, read.wqe, step);
    if (scatter_wait_) return NakReason(ResponderError::kPagesAbsent);
    return NakReason(ResponderError::kReceiveBufferRefused);
  }
  const NakReason reason = std::get<NakReason>(placed);
  FailAt(read.wqe, {CompletionStatus::kLocalProtectionError, CountRefusal(reason, step.refusals)},
         step);
  return NakReason(ResponderError::kReceiveBufferRefused);
}

// The oldest read or atomic has its whole response.
void IwarpRequester::EndResponse(Step& step) {
  outstanding_.At(reads_.front()->wqe).is_done = true;
  reads_.Pop();
  CompleteDone(step);
}

void IwarpRequester::OnTerminate(const wire::RdmapTerminate& terminate, Step& step) {
  const auto* const header = std::get_if<wire::DdpUntagged>(&terminate.header);
  if (header != nullptr && header->queue == wire::DdpQueue::kReadRequest) {
    if (const OutboundRead* const read = reads_.Find(header->msn)) {
      FailAt(read->wqe, {StatusOf(terminate.code)}, step);
    }
  }
  has_failed_ = true;
}

// The element fails after those before it have completed. No element after it is executed.
void IwarpRequester::FailAt(WqeNumber n, const LocalOutcome& outcome, Step& step) {
  OutstandingRequest& outstanding = outstanding_.At(n);
  outstanding.is_done = true;
  outstanding.status = outcome.status;
  outstanding.vendor_error = outcome.vendor_error;
  is_blocked_ = true;
  CompleteDone(step);
}

void IwarpRequester::CompleteDone(Step& step) {
  while (!outstanding_.empty() && outstanding_.front().is_done && !has_failed_) {
    const OutstandingRequest& outstanding = outstanding_.front();
    if (outstanding.status != CompletionStatus::kSuccess) [[unlikely]] {
      return CompleteFailed(step);
    }
    const uint32_t byte_count = outstanding.byte_count;
    if (position_.wqe == outstanding_.begin()) position_ = {.wqe = Next(position_.wqe)};
    outstanding_.RetireFront();
    CompleteFront({}, byte_count, step);
  }
}

// IBA 11.6.3.1: a completion that finds no room is lost, and the queue pair goes into error.
void IwarpRequester::CompleteFront(const LocalOutcome& outcome, uint32_t byte_count, Step& step) {
  if (CompleteOldest(queue_, outcome, byte_count, config_.local_qp, cq_, step)) return;
  if (!has_failed_) step.outbox.Raise({AsyncEventType::kQpFatal, config_.local_qp});
  has_failed_ = true;
}

// Row B3: in reactive mode a failed registration flushes the elements after it, and does not end
// the stream.
void IwarpRequester::CompleteFailed(Step& step) {
  const OutstandingRequest outstanding = outstanding_.front();
  const bool is_registration = failed_registration_ == outstanding_.begin();
  CompleteFront({outstanding.status, outstanding.vendor_error}, outstanding.byte_count, step);
  outstanding_.RetireFront();
  if (is_registration && config_.registration == RegistrationMode::kReactive && !has_failed_) {
    FlushQueue(step);
    is_blocked_ = false;
    had_sqd_failure_ = true;
  } else {
    has_failed_ = true;
  }
}

// An element that has failed behind others keeps its status.
void IwarpRequester::FlushQueue(Step& step) {
  for (WqeNumber n = queue_.begin(); n < queue_.end(); n = Next(n)) {
    LocalOutcome outcome{CompletionStatus::kFlushed};
    const bool is_started = outstanding_.begin() <= n && n < outstanding_.end();
    if (is_started && outstanding_.At(n).status != CompletionStatus::kSuccess) {
      outcome = {outstanding_.At(n).status, outstanding_.At(n).vendor_error};
    }
    CompleteFront(outcome, 0, step);
  }
  outstanding_.Reset(queue_.begin());
  position_ = {.wqe = queue_.begin()};
  reads_.Clear();
}

void IwarpRequester::FlushPosted(Step& step) {
  CHECK(is_drained());
  FlushQueue(step);
}

void IwarpRequester::Flush(Step& step) {
  FlushQueue(step);
  has_failed_ = true;
  gather_wait_.reset();
  scatter_wait_.reset();
  delayed_until_ = Time::Never();
}

bool IwarpRequester::IsConsistent() const {
  if (!outstanding_.IsConsistent()) return false;
  if (reads_.size() > config_.max_rd_atomic) return false;
  return position_.wqe <= outstanding_.end() && position_.offset <= kMessageMax;
}

}  // namespace verbena::transport
