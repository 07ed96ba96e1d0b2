#include "memory/spaces/current_io.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kQuiesceBit = CurrentIoWord::kQuiesceBit;
constexpr uint64_t kInterestBit = CurrentIoWord::kInterestBit;

bool Quiesced(uint64_t word) { return (word & kQuiesceBit) != 0; }
bool Interested(uint64_t word) { return (word & kInterestBit) != 0; }
uint64_t Count(uint64_t word) { return word & CurrentIoWord::kCountMask; }

}  // namespace

CurrentIo::InterestResult CurrentIo::RegisterInterest() {
  uint64_t seen = word_.load(std::memory_order_acquire);
  do {
    if (!Quiesced(seen)) return InterestResult::kResumed;
  } while (!CurrentIoWord::Change(word_, seen, seen | kInterestBit));
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

uint32_t CurrentIo::outstanding() const {
  return static_cast<uint32_t>(Count(word_.load(std::memory_order_acquire)));
}

bool CurrentIo::HasInterest() const { return Interested(word_.load(std::memory_order_acquire)); }

}  // namespace verbena::memory
