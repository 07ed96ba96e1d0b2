#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/random.h"
#include "base/time.h"
#include "paging/outcome.h"
#include "sim/paging/plan.h"

namespace verbena::sim {

// Simulated swap file of a run of the pager: slow, and as unreliable as the plan says. Contents are
// numbers, one per write. One thread.
class PagingStore {
 public:
  struct Done {
    uint32_t granule = 0;
    bool is_write = false;
    paging::ReadOutcome read = {};
    paging::WriteOutcome write = {};
    uint64_t contents = 0;  // of a good read
  };

  PagingStore(const PagingPlan& plan, Random random) : plan_(plan), random_(random) {}

  // The next granule in one row with the last may be in the same transfer, and then ends with it.
  void Write(uint32_t granule, Time now) { Start(granule, true, now); }
  void Read(uint32_t granule, Time now) { Start(granule, false, now); }
  void Forget(uint32_t granule) { copies_.erase(granule); }

  // Sets the contents after a good write. A write reads memory while it is in progress, so only at
  // its end is known what was stored.
  void SetCopy(uint32_t granule, uint64_t contents);
  [[nodiscard]] bool HasCopy(uint32_t granule) const { return copies_.contains(granule); }
  // nullopt: no copy. Ignores corruption.
  [[nodiscard]] std::optional<uint64_t> Contents(uint32_t granule) const;

  [[nodiscard]] Time next() const {
    return under_way_.empty() ? Time::Never() : under_way_.begin()->first;
  }
  // The next read or write that has ended by `now`.
  [[nodiscard]] std::optional<Done> TakeDone(Time now);

  // All writes fail until `end`.
  void FailUntil(Time end) { outage_end_ = end; }
  // From here on nothing fails, except that a full store can stay full, and corrupt copies stay
  // corrupt.
  void CalmDown();

 private:
  struct Copy {
    uint64_t contents;
    bool is_corrupt;
  };
  struct Job {
    uint32_t granule;
    bool is_write;
  };

  void Start(uint32_t granule, bool is_write, Time now);
  [[nodiscard]] paging::WriteOutcome EndWrite(Time now);
  [[nodiscard]] paging::ReadOutcome EndRead(uint32_t granule);

  const PagingPlan plan_;
  Random random_;
  std::map<uint32_t, Copy> copies_;
  std::multimap<Time, Job> under_way_;
  Job last_{};
  Time last_ends_{};
  Time outage_end_{};
  bool is_calm_ = false;
};

}  // namespace verbena::sim
