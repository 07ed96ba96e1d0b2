#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "queue/completion.h"
#include "queue/work_queue.h"
#include "transport/common/refusal_counters.h"
#include "wire/roce/types.h"

namespace verbena::transport {

// A work queue element that has been started: the packet sequence numbers that it uses, and its
// progress.
struct OutstandingRequest {
  Psn first_psn;
  uint32_t psn_count = 0;  // 0: it sends no packets
  uint32_t responses = 0;  // response packets of a read that have arrived
  bool needs_response = false;
  bool is_done = false;  // acknowledged, all responses arrived, or executed locally
  CompletionStatus status = CompletionStatus::kSuccess;
  uint32_t byte_count = 0;  // of the completion
  uint8_t losses = 0;       // pages lost so far
  VendorError vendor_error = 0;

  Psn end_psn() const { return first_psn + psn_count; }
  bool Covers(Psn psn) const {
    return static_cast<uint32_t>((psn - first_psn.value()).value()) < psn_count;
  }
};

// The elements from the oldest that is not retired to the newest that has been started, in order.
// Their sequence numbers have no gap between them. Has as many places as the send queue.
//
// Invariant: the elements [begin, end) are started; each first_psn is the end_psn of the element
// before. Owned by the requester.
class OutstandingRequests {
 public:
  explicit OutstandingRequests(uint32_t capacity)
      : outstanding_(std::bit_ceil(uint64_t{capacity} + 1)), mask_(outstanding_.size() - 1) {}

  queue::WqeNumber begin() const { return begin_; }
  queue::WqeNumber end() const { return end_; }
  bool empty() const { return begin_ == end_; }

  OutstandingRequest& At(queue::WqeNumber n) {
    DCHECK(begin_ <= n && n < end_);
    return outstanding_[n.value() & mask_];
  }
  const OutstandingRequest& At(queue::WqeNumber n) const {
    return const_cast<OutstandingRequests*>(this)->At(n);
  }
  OutstandingRequest& front() { return At(begin_); }

  OutstandingRequest& Start(const OutstandingRequest& outstanding) {
    DCHECK(end_.value() - begin_.value() < outstanding_.size());
    OutstandingRequest& place = outstanding_[end_.value() & mask_];
    place = outstanding;
    end_ = Next(end_);
    return place;
  }
  void RetireFront() {
    DCHECK(!empty());
    begin_ = Next(begin_);
  }

  // Removes all; the element `next` will be started first.
  void Reset(queue::WqeNumber next) { begin_ = end_ = next; }

  // The element to which a sequence number belongs.
  std::optional<queue::WqeNumber> Find(Psn psn) const {
    for (queue::WqeNumber n = begin_; n < end_; n = Next(n)) {
      if (At(n).Covers(psn)) return n;
    }
    return std::nullopt;
  }

  bool IsConsistent() const {
    for (queue::WqeNumber n = begin_; n < end_; n = Next(n)) {
      if (Next(n) < end_ && At(Next(n)).first_psn != At(n).end_psn()) return false;
      if (At(n).responses > At(n).psn_count) return false;
    }
    return begin_ <= end_;
  }

 private:
  std::vector<OutstandingRequest> outstanding_;
  uint64_t mask_;
  queue::WqeNumber begin_;
  queue::WqeNumber end_;
};

}  // namespace verbena::transport
