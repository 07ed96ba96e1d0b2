#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "base/time.h"
#include "memory/memory_core.h"
#include "odp/residency_probe.h"

namespace verbena::odp {

// Which memory the tables call present, and the looks at whether it still is. The system swaps
// pages out, drops those of files, and does not tell; a page that has gone would have to be paged
// in by the engine itself, while all queue pairs wait. So a part of the memory is looked at every
// so often, round and round, as long as the adapter is in use; what has gone is forgotten by the
// tables, and its next use is a fault that the pager serves.
//
//   engine   Note, IsDue, Begin ----------> Finish
//   pager                        \-> Look -/
//
// Invariant: blocks_ covers all that was noted and that the tables have not forgotten since.
// Owned by the pager. Thread rule: under the engine's lock, but Look, between Begin and Finish.
class ResidencyScan {
 public:
  // As much as a leaf of a table, and as a scan tells at once.
  static constexpr uint64_t kBlockBytes = uint64_t{2} << 20;
  // A look at 128 MiB takes some 0.3 ms of a pager's time.
  static constexpr size_t kBlocksAtOnce = 64;

  // Duration::Max(): never looks.
  explicit ResidencyScan(Duration period) : period_(period) { looked_.reserve(kBlocksAtOnce); }
  ResidencyScan(const ResidencyScan&) = delete;
  ResidencyScan& operator=(const ResidencyScan&) = delete;

  // The tables call these bytes present.
  void Note(uint64_t address, uint64_t length, Time now);

  // Cheap enough to be asked in every pass.
  [[nodiscard]] bool IsDue(Time now) const { return next_ <= now; }
  [[nodiscard]] bool is_done() const { return state_.load(std::memory_order_acquire) == kDone; }

  // Chooses what to look at. REQUIRES: IsDue.
  void Begin();
  void Probe(const ResidencyProbe& scan);
  // Makes the tables forget what has gone; how many pages. REQUIRES: is_done().
  uint64_t Finish(memory::MemoryCore& memory, Time now);

  [[nodiscard]] size_t block_count() const { return blocks_.size(); }

 private:
  enum State : uint8_t { kIdle, kLooking, kDone };
  struct Looked {
    uint64_t block = 0;  // address
    ResidencyProbe::Pages present = {};
  };

  const Duration period_;
  std::set<uint64_t> blocks_;  // addresses, so that a walk can go on where the last one ended
  uint64_t go_on_at_ = 0;
  Time next_ = Time::Never();
  std::vector<Looked> looked_;
  std::atomic<State> state_ = kIdle;
};

}  // namespace verbena::odp
