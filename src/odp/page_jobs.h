#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "memory/memory_core.h"
#include "odp/page_job.h"
#include "odp/residency_probe.h"
#include "odp/residency_scan.h"
#include "transport/common/outbox.h"

namespace verbena::odp {

// Where the pages are that a queue pair waits for: at most `bytes_max` of them, and always one. Of
// a page list, those that lie side by side. A request for pages that cannot be paged in, of a
// region that has gone or of a guest, is for none, and so comes back refused.
[[nodiscard]] PageJob JobFor(const memory::MemoryCore& memory,
                             const transport::PageRequest& request, uint64_t bytes_max);

// The pages that came are in the tables from now on, and watched. False if none came, or if their
// region has gone meanwhile.
[[nodiscard]] bool MapPages(memory::MemoryCore& memory, ResidencyScan& watch, const PageJob& job,
                            Time now);
// The same of pages that are not watched, because the arena that takes them away says so first.
[[nodiscard]] bool MapManagedPages(memory::MemoryCore& memory, const PageJob& job);

// Calls fn(job) for each run of pages of this process that are in memory already, of those of 4 KiB
// that `wanted` names. None is paged in.
template <class Fn>
void ForEachPresent(const ResidencyProbe& scan, const PageJob& wanted, Fn fn) {
  constexpr uint64_t kAtOnce = ResidencyProbe::kPagesAtOnce;
  const uint64_t page_bytes = wanted.request.fault.page_shift.bytes();
  for (uint64_t done = 0; done < wanted.page_count; done += kAtOnce) {
    const uint64_t count = std::min(kAtOnce, wanted.page_count - done);
    const auto present = scan.Probe(wanted.address + done * page_bytes, count);
    ForEachRun(present, count, true, [&](uint64_t first, uint64_t end) {
      PageJob run = wanted;
      run.address += (done + first) * page_bytes;
      run.request.fault.first_page += done + first;
      run.request.fault.page_count = run.page_count = run.paged_in = end - first;
      fn(run);
    });
  }
}

}  // namespace verbena::odp
