#include "sim/paging.h"

#include <utility>

namespace verbena::sim {

bool Paging::Submit(const odp::PageJob& job) {
  if (!answers().Expect()) return false;
  ++requests_;
  const Duration longest = is_calm_ ? Microseconds(100) : swarm_.page_in_max;
  const auto time = Nanoseconds(
      static_cast<int64_t>(1 + random_.Below(static_cast<uint64_t>(longest.nanoseconds()))));
  if (!is_dead_) network_.Add(clock_.now + time, {.to = node_, .job = job});
  return true;
}

void Paging::Arrive(odp::PageJob job, memory::MemoryCore& core) {
  const bool fails = !is_calm_ && random_.Chance(swarm_.page_in_failure, 1000);
  if (fails || !PageIn(job, core)) job.paged_in = 0;
  answers().Finish(job);
}

// Evicted pages may still be in memory, unless the program has unmapped them.
uint64_t Paging::CountResident(uint64_t address, uint64_t page_count) const {
  if (!resident_random_.Chance(swarm_.resident, 1000)) return 0;
  for (const auto& [index, region] : regions_) {
    const uint64_t start = region.guarded->AddressOf(0).value();
    if (address < start || address - start >= region.guarded->size()) continue;
    const uint64_t first = (address - start) / kPage;
    uint64_t count = 0;
    while (count < page_count && first + count < region.guarded->pages() &&
           !region.guarded->HasVanished(first + count, 1)) {
      ++count;
    }
    return count;
  }
  return 0;
}

// A region that was deregistered meanwhile has no pages: the job succeeds, and the queue pair is
// refused when it tries the access again.
bool Paging::PageIn(odp::PageJob& job, memory::MemoryCore& core) const {
  const memory::Fault& fault = job.request.fault;
  const auto found = regions_.find(fault.region.index().value());
  if (found == regions_.end()) return job.is_mapped = true;
  const Region& region = found->second;
  if (region.guarded->HasVanished(region.first_page + fault.first_page, fault.page_count)) {
    return false;
  }
  job.paged_in = job.page_count;
  if (region.kind == Kind::kLinear) return true;
  for (uint64_t i = fault.first_page; i < fault.first_page + fault.page_count; ++i) {
    const auto where = region.guarded->AddressOf((region.first_page + i) * kPage);
    static_cast<void>(core.regions.MapPages(fault.region, i, 1, where, true));
  }
  return job.is_mapped = true;
}

}  // namespace verbena::sim
