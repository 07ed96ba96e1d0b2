#include "queue/completion_queue.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace verbena::queue {
namespace {

constexpr auto kAllBit = static_cast<uint8_t>(CompletionQueue::Wanted::kAll);
constexpr auto kAnyBit =
    static_cast<uint8_t>(kAllBit | static_cast<uint8_t>(CompletionQueue::Wanted::kSolicited));

}  // namespace

CompletionQueue::CompletionQueue(size_t capacity)
    : mask_(std::bit_ceil(capacity) - 1), slots_(std::make_unique<Completion[]>(mask_ + 1)) {}

CompletionQueue::PushResult CompletionQueue::Push(const Completion& completion, bool solicited,
                                                  Time now) {
  if (overflowed()) return {.status = PushStatus::kInError};
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (tail - head_.load(std::memory_order_acquire) > mask_) {
    if (discards_) return {};
    overflowed_.store(true, std::memory_order_release);
    return {.status = PushStatus::kOverflowed};
  }
  Completion& slot = slots_[tail & mask_];
  slot = completion;
  slot.timestamp_ns = now.nanoseconds();
  tail_.store(tail + 1);  // P1

  const bool counts_as_solicited = solicited || completion.status != CompletionStatus::kSuccess;
  if ((arm_.load() & (counts_as_solicited ? kAnyBit : kAllBit)) != 0) {  // P2
    if (waiting_count_++ == 0) waiting_since_ = now;
  }
  const bool event_now = OnTime(now);
  return {.event_now = event_now, .event_at = deadline()};
}

bool CompletionQueue::OnTime(Time now) {
  if (!IsDue(now)) return false;
  waiting_count_ = 0;
  arm_.store(0);
  return true;
}

bool CompletionQueue::IsDue(Time now) const {
  return waiting_count_ != 0 && (waiting_count_ >= moderation_count_ || deadline() <= now);
}

Time CompletionQueue::deadline() const {
  return waiting_count_ == 0 ? Time::Never() : waiting_since_ + moderation_period_;
}

void CompletionQueue::SetModeration(uint32_t count, Duration period) {
  moderation_count_ = count;
  moderation_period_ = period;
}

Result<void, CqError> CompletionQueue::Resize(size_t capacity) {
  const MutexLock lock(poll_mutex_);
  if (overflowed()) return Fail(CqError::kOverflow);
  if (capacity < size()) return Fail(CqError::kTooSmall);
  const uint64_t mask = std::bit_ceil(capacity) - 1;
  auto slots = std::make_unique<Completion[]>(mask + 1);
  for (uint64_t i = head_; i != tail_; ++i) slots[i & mask] = slots_[i & mask_];
  mask_ = mask;
  slots_ = std::move(slots);
  return {};
}

size_t CompletionQueue::RemoveQp(QpNumber qp) {
  const MutexLock lock(poll_mutex_);
  const uint64_t tail = tail_;
  uint64_t held_end = head_;
  for (uint64_t i = head_; i != tail; ++i) {
    const Completion& completion = slots_[i & mask_];
    if (completion.qp != qp) slots_[held_end++ & mask_] = completion;
  }
  tail_ = held_end;
  return tail - held_end;
}

Result<size_t, CqError> CompletionQueue::Poll(std::span<Completion> out) {
  // In this order: if a completion was lost, all earlier ones are in the queue.
  const bool lost = overflowed();
  // Without the lock, because programs spin here. head_ only grows and is read first, so if the
  // two are equal the queue was empty when tail_ was read.
  const uint64_t head_seen = head_.load(std::memory_order_acquire);
  if (head_seen == tail_.load()) {  // A2
    if (lost) return Fail(CqError::kOverflow);
    return 0;
  }

  const MutexLock lock(poll_mutex_);
  const uint64_t head = head_.load(std::memory_order_relaxed);
  const size_t count = std::min<uint64_t>(out.size(), tail_.load() - head);
  for (size_t i = 0; i < count; ++i) out[i] = slots_[(head + i) & mask_];
  head_.store(head + count, std::memory_order_release);
  return count;
}

// The lock is held after the call, which the analysis cannot follow; the same in EndPoll.
Result<const Completion*, CqError> CompletionQueue::StartPoll() VERBENA_NO_THREAD_SAFETY_ANALYSIS {
  poll_mutex_.Lock();
  const bool lost = overflowed();
  shown_end_ = head_.load(std::memory_order_relaxed);
  if (const Completion* const first = NextPoll()) return first;
  poll_mutex_.Unlock();
  if (lost) return Fail(CqError::kOverflow);
  return nullptr;
}

const Completion* CompletionQueue::NextPoll() VERBENA_NO_THREAD_SAFETY_ANALYSIS {
  if (shown_end_ == tail_.load()) return nullptr;
  return &slots_[shown_end_++ & mask_];
}

void CompletionQueue::EndPoll() VERBENA_NO_THREAD_SAFETY_ANALYSIS {
  head_.store(shown_end_, std::memory_order_release);
  poll_mutex_.Unlock();
}

size_t CompletionQueue::size() const {
  const uint64_t head = head_.load(std::memory_order_acquire);
  return tail_.load(std::memory_order_acquire) - head;
}

bool CompletionQueue::IsConsistent() const {
  const MutexLock lock(poll_mutex_);
  const uint64_t head = head_;
  if (tail_ < head || tail_ - head > capacity()) return false;
  if (!std::has_single_bit(capacity())) return false;
  // A delayed event was requested by Arm.
  return waiting_count_ == 0 || arm_ != 0;
}

}  // namespace verbena::queue
