#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/time.h"
#include "memory/memory_core.h"
#include "odp/residency_probe.h"

namespace verbena::odp {

// Finds memory that is present in the tables but no longer in memory. The system swaps pages out,
// and drops those of files, without notice. If an access met such a page, the engine itself would
// have to page it in, while all queue pairs wait. So the scan probes a part of the memory at
// intervals, round-robin, as long as the adapter is in use. Evicted pages become absent in the
// tables, and their next use is a fault that the pager serves.
//
//   engine   Note, IsDue, Begin -----------> Finish
//   pager                        \-> Probe -/
//
// Invariant: blocks_ covers all noted memory that has not become absent since. Owned by the page
// service. Thread rule: under the engine's lock, except for Probe, between Begin and Finish.
class ResidencyScan {
 public:
  // The memory of a leaf of a table, and of one call of ResidencyProbe.
  static constexpr uint64_t kBlockBytes = uint64_t{2} << 20;
  // Probing 128 MiB takes about 0.3 ms of a pager thread's time.
  static constexpr size_t kBlocksAtOnce = 64;
  // The thread rests so many times as long as a probe took: it has a fiftieth of a processor at
  // most.
  static constexpr int64_t kRest = 50;

  // Duration::Max(): never probes.
  explicit ResidencyScan(Duration period) : period_(period) { looked_.reserve(kBlocksAtOnce); }
  ResidencyScan(const ResidencyScan&) = delete;
  ResidencyScan& operator=(const ResidencyScan&) = delete;

  // These bytes are present in the tables.
  void Note(uint64_t address, uint64_t length, Time now);

  // Cheap enough to be called in every pass.
  [[nodiscard]] bool IsDue(Time now) const { return next_ <= now; }
  [[nodiscard]] bool is_done() const { return state_.load(std::memory_order_acquire) == kDone; }

  // Chooses what to probe. REQUIRES: IsDue.
  void Begin();
  void Probe(const ResidencyProbe& scan);
  // Marks evicted pages absent; returns how many. REQUIRES: is_done().
  uint64_t Finish(memory::MemoryCore& memory, Time now);

  [[nodiscard]] size_t block_count() const { return blocks_.size(); }

 private:
  enum State : uint8_t { kIdle, kLooking, kDone };
  // Pages of a block, by their number in it.
  struct PageRange {
    uint64_t first = 0;
    uint64_t end = 0;
    friend bool operator==(const PageRange&, const PageRange&) = default;
  };
  struct Looked {
    uint64_t block = 0;  // address
    PageRange pages = {};
    ResidencyProbe::Pages present = {};  // the first is that of pages.first
  };

  const Duration period_;
  // By address, so that a round can continue where the last one ended. The range covers all noted
  // pages of the block: of pages beside them, which may not be mapped, mincore can tell only one
  // by one.
  std::map<uint64_t, PageRange> blocks_;
  uint64_t go_on_at_ = 0;
  Time next_ = Time::Never();
  std::vector<Looked> looked_;
  Duration took_;  // of the last probe, in processor time
  std::atomic<State> state_ = kIdle;
};

}  // namespace verbena::odp
