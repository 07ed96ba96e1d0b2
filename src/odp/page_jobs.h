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

// Resolves where the pages are that a queue pair waits for: at most `bytes_max` of them, but at
// least one page. Of a page list, only contiguous pages. The job has no pages, and is therefore
// answered with a refusal, if the region was deregistered or its guest destroyed.
[[nodiscard]] PageJob JobFor(const memory::MemoryCore& memory,
                             const transport::PageRequest& request, uint64_t bytes_max);

// Enters the pages that were paged in into the tables and the residency scan. False if no page was
// paged in, if the region was deregistered meanwhile, or if the pages belong to a guest: see
// EnterSecondStage.
[[nodiscard]] bool MapPages(memory::MemoryCore& memory, ResidencyScan& watch, const PageJob& job,
                            Time now);

// Whether the first page of the job is present in the tables. False if the page belongs to a guest.
[[nodiscard]] bool IsMapped(const memory::MemoryCore& memory, const PageJob& job);

// Calls fn(job) for each run of the 4 KiB pages of `wanted` that are in memory. Does not page in
// the others.
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
