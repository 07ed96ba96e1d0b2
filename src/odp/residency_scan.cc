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
  const uint64_t first = address / kBasePage.bytes();
  const uint64_t last = (address + (length - 1)) / kBasePage.bytes();
  // Without memory for its record a block is not probed: a copy finds out that its pages are
  // absent.
  static_cast<void>(WhenMemory([&] {
    for (uint64_t block = first / kPages; block <= last / kPages; ++block) {
      const PageRange noted{std::max(first, block * kPages) - block * kPages,
                            std::min(last + 1 - block * kPages, kPages)};
      const auto [known, is_new] = blocks_.try_emplace(block * kBlockBytes, noted);
      if (is_new) continue;
      known->second = {std::min(known->second.first, noted.first),
                       std::max(known->second.end, noted.end)};
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
    looked_.push_back({.block = at->first, .pages = at->second});
    ++at;
  }
  go_on_at_ = at == blocks_.end() ? 0 : at->first;
  next_ = Time::Never();
  state_.store(kLooking, std::memory_order_release);
}

void ResidencyScan::Probe(const ResidencyProbe& scan) {
  const Duration before = ProcessorTime();
  for (Looked& looked : looked_) {
    const auto [first, end] = looked.pages;
    looked.present = scan.Probe(looked.block + first * kBasePage.bytes(), end - first);
  }
  took_ = ProcessorTime() - before;
  state_.store(kDone, std::memory_order_release);
}

uint64_t ResidencyScan::Finish(memory::MemoryCore& memory, Time now) {
  CHECK(is_done());
  uint64_t gone = 0;
  for (const Looked& looked : looked_) {
    const ResidencyProbe::Pages& present = looked.present;
    const PageRange pages = looked.pages;
    const auto at = [&](uint64_t offset) { return memory::MachineAddress(looked.block + offset); };
    ForEachRun(present, pages.end - pages.first, false, [&](uint64_t first, uint64_t end) {
      gone += memory.MarkMachineAbsent(at((pages.first + first) * kBasePage.bytes()),
                                       at((pages.first + end) * kBasePage.bytes() - 1));
    });
    const bool is_used = memory.IsNamed(at(0), at(kBlockBytes - 1));
    const auto known = blocks_.find(looked.block);
    const bool is_gone = present.none() && known->second == pages;  // none was noted meanwhile
    if (is_gone || !is_used) blocks_.erase(known);
  }
  next_ = blocks_.empty() ? Time::Never() : now + std::max(period_, took_ * kRest);
  state_.store(kIdle, std::memory_order_relaxed);
  return gone;
}

}  // namespace verbena::odp
