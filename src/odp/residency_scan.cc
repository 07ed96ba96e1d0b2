#include "odp/residency_scan.h"

#include <time.h>

#include <algorithm>

#include "base/check.h"
#include "base/page.h"
#include "base/when_memory.h"

namespace verbena::odp {
namespace {

constexpr uint64_t kPages = ResidencyScan::kBlockBytes / kBasePage.bytes();
static_assert(kPages == ResidencyProbe::kPagesAtOnce);

// What this thread has had.
Duration ProcessorTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

}  // namespace

void ResidencyScan::Note(uint64_t address, uint64_t length, Time now) {
  if (length == 0 || period_ == Duration::Max()) return;
  const uint64_t last = (address + (length - 1)) / kBlockBytes;
  // Without memory for its record a block is not probed: a copy finds out that its pages are
  // absent.
  static_cast<void>(WhenMemory([&] {
    for (uint64_t block = address / kBlockBytes; block <= last; ++block) {
      blocks_.insert(block * kBlockBytes);
    }
  }));
  if (next_ == Time::Never() && state_.load(std::memory_order_relaxed) == kIdle) {
    next_ = now + period_;
  }
}

void ResidencyScan::Begin() {
  CHECK(state_.load(std::memory_order_relaxed) == kIdle);
  looked_.clear();
  auto at = blocks_.lower_bound(go_on_at_);
  for (size_t left = std::min(kBlocksAtOnce, blocks_.size()); left > 0; --left) {
    if (at == blocks_.end()) at = blocks_.begin();
    looked_.push_back({.block = *at++});
  }
  go_on_at_ = at == blocks_.end() ? 0 : *at;
  next_ = Time::Never();
  state_.store(kLooking, std::memory_order_release);
}

void ResidencyScan::Probe(const ResidencyProbe& scan) {
  const Duration before = ProcessorTime();
  for (Looked& looked : looked_) looked.present = scan.Probe(looked.block, kPages);
  took_ = ProcessorTime() - before;
  state_.store(kDone, std::memory_order_release);
}

uint64_t ResidencyScan::Finish(memory::MemoryCore& memory, Time now) {
  CHECK(is_done());
  uint64_t gone = 0;
  for (const Looked& looked : looked_) {
    const ResidencyProbe::Pages& present = looked.present;
    const auto at = [&](uint64_t offset) { return memory::MachineAddress(looked.block + offset); };
    ForEachRun(present, kPages, false, [&](uint64_t first, uint64_t end) {
      gone +=
          memory.MarkMachineAbsent(at(first * kBasePage.bytes()), at(end * kBasePage.bytes() - 1));
    });
    const bool is_used = memory.IsNamed(at(0), at(kBlockBytes - 1));
    if (present.none() || !is_used) blocks_.erase(looked.block);
  }
  next_ = blocks_.empty() ? Time::Never() : now + std::max(period_, took_ * kRest);
  state_.store(kIdle, std::memory_order_relaxed);
  return gone;
}

}  // namespace verbena::odp
