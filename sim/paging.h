#pragma once

#include <cstdint>
#include <map>

#include "base/random.h"
#include "memory/memory_core.h"
#include "odp/page_service.h"
#include "sim/guarded_memory.h"
#include "sim/machine.h"
#include "sim/network.h"
#include "sim/swarm.h"

namespace verbena::sim {

// The page service of an endnode: pages arrive after a time, or not. Knows the pages of guarded
// memory that a region consists of, by the index of its key. One thread.
class Paging final : public odp::PageService {
 public:
  enum class Kind : uint8_t { kLinear, kPageList };

  Paging(const Swarm& swarm, uint32_t node, Random random, const VirtualClock& clock,
         Network& network)
      : PageService([] {}, Duration::Max()),
        swarm_(swarm),
        node_(node),
        random_(random),
        clock_(clock),
        network_(network) {}

  void Add(Key key, const GuardedMemory& guarded, uint64_t first_page, Kind kind) {
    regions_[key.index().value()] = {&guarded, first_page, kind};
  }
  void Remove(Key key) { regions_.erase(key.index().value()); }
  // The process has died: its requests are not served.
  void Die() { is_dead_ = true; }
  // From now on pages arrive quickly, and always.
  void Calm() { is_calm_ = true; }

  [[nodiscard]] bool Submit(const odp::PageJob& job) override;
  void SubmitProbe() override {}
  [[nodiscard]] uint64_t CountResident(uint64_t address, uint64_t page_count) const override;

  // A job is due.
  void Arrive(odp::PageJob job, memory::MemoryCore& core);
  // False if the pages are unavailable. Pages of a list are in the tables then.
  bool PageIn(odp::PageJob& job, memory::MemoryCore& core) const;

  [[nodiscard]] uint64_t requests() const { return requests_; }

 private:
  struct Region {
    const GuardedMemory* guarded;
    uint64_t first_page;  // of the guarded memory
    Kind kind;
  };

  const Swarm swarm_;
  const uint32_t node_;
  Random random_;
  mutable Random resident_random_{random_.Next64()};
  const VirtualClock& clock_;
  Network& network_;
  std::map<uint32_t, Region> regions_;
  bool is_calm_ = false;
  bool is_dead_ = false;
  uint64_t requests_ = 0;
};

}  // namespace verbena::sim
