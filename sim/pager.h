#pragma once

#include <cstdint>
#include <map>

#include "memory/memory_core.h"
#include "sim/plot.h"

namespace verbena::sim {

// Brings pages back: knows, by the index of its key, of which pages of a plot a region is made. One
// to an endnode.
class Pager {
 public:
  enum class Kind : uint8_t { kLinear, kPageList };

  void Add(memory::Key key, const Plot& plot, uint64_t first_page, Kind kind) {
    regions_[key.index().value()] = {&plot, first_page, kind};
  }
  void Remove(memory::Key key) { regions_.erase(key.index().value()); }

  // False: they cannot be had. A region that has gone meanwhile has no pages; whoever waits for
  // them finds out when it looks.
  bool BringIn(const memory::Fault& fault, memory::MemoryCore& core) const {
    const auto found = regions_.find(fault.region.index().value());
    if (found == regions_.end()) return true;
    const Region& region = found->second;
    if (region.plot->HasVanished(region.first_page + fault.first_page, fault.page_count)) {
      return false;
    }
    if (region.kind == Kind::kLinear) {
      static_cast<void>(
          core.regions.MapPages(fault.region, fault.first_page, fault.page_count, {}, true));
      return true;
    }
    for (uint64_t i = fault.first_page; i < fault.first_page + fault.page_count; ++i) {
      const auto where = region.plot->AddressOf((region.first_page + i) * kPage);
      static_cast<void>(core.regions.MapPages(fault.region, i, 1, where, true));
    }
    return true;
  }

 private:
  struct Region {
    const Plot* plot;
    uint64_t first_page;  // of the plot
    Kind kind;
  };

  std::map<uint32_t, Region> regions_;
};

}  // namespace verbena::sim
