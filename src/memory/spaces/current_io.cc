#include "memory/spaces/current_io.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kQuiesceBit = uint64_t{1} << 63;
constexpr uint64_t kInterestBit = uint64_t{1} << 62;
constexpr uint64_t kCountMask = CurrentIo::kOutstandingMax;

bool Quiesced(uint64_t word) { return (word & kQuiesceBit) != 0; }
bool Interested(uint64_t word) { return (word & kInterestBit) != 0; }
uint64_t Count(uint64_t word) { return word & kCountMask; }

// For steps that depend on the present value. A failure reloads `seen`, and the caller decides
// again.
bool Change(CurrentIo::Word& word, uint64_t& seen, uint64_t desired) {
  return word.compare_exchange_weak(seen, desired, std::memory_order_acq_rel,
                                    std::memory_order_acquire);
}

}  // namespace

CurrentIo::BeginResult CurrentIo::Begin(uint32_t operations) {
  uint64_t seen = word_.load(std::memory_order_acquire);
  do {
    if (Quiesced(seen)) return BeginResult::kQuiesced;
    if (operations > kOutstandingMax - Count(seen)) return BeginResult::kTooMany;
  } while (!Change(word_, seen, seen + operations));
  return BeginResult::kStarted;
}

CurrentIo::EndResult CurrentIo::End(uint32_t operations) {
  uint64_t seen = word_.load(std::memory_order_acquire);
  do {
    if (operations == 0 || Count(seen) < operations) return EndResult::kNotBegun;
  } while (!Change(word_, seen, seen - operations));
  const bool last = Count(seen) == operations;
  return last && Quiesced(seen) ? EndResult::kLastWhileQuiesced : EndResult::kMore;
}

CurrentIo::InterestResult CurrentIo::RegisterInterest() {
  uint64_t seen = word_.load(std::memory_order_acquire);
  do {
    if (!Quiesced(seen)) return InterestResult::kResumed;
  } while (!Change(word_, seen, seen | kInterestBit));
  return InterestResult::kRegistered;
}

bool CurrentIo::IsQuiesced() const { return Quiesced(word_.load(std::memory_order_acquire)); }

CurrentIo::QuiesceResult CurrentIo::Quiesce() {
  const uint64_t before = word_.fetch_or(kQuiesceBit, std::memory_order_acq_rel);
  if (Quiesced(before)) return QuiesceResult::kAlreadyQuiesced;
  return Count(before) == 0 ? QuiesceResult::kIdle : QuiesceResult::kBusy;
}

bool CurrentIo::IsIdle() const {
  const uint64_t seen = word_.load(std::memory_order_acquire);
  return Quiesced(seen) && Count(seen) == 0;
}

CurrentIo::ResumeResult CurrentIo::Resume() {
  const uint64_t before = word_.fetch_and(~(kQuiesceBit | kInterestBit), std::memory_order_acq_rel);
  return Interested(before) ? ResumeResult::kWakeConsumer : ResumeResult::kNoWaiter;
}

bool CurrentIo::HasInterest() const { return Interested(word_.load(std::memory_order_acquire)); }

}  // namespace verbena::memory
