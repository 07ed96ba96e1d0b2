#pragma once

#include <cstdint>
#include <vector>

#include "adapter/pager.h"
#include "memory/memory_core.h"
#include "transport/outbox.h"

namespace verbena::adapter {

// Where the pages are that a queue pair waits for: at most `bytes_max` of them, and always one. A
// request for pages that nobody can bring, of a region that has gone or of a list of frames, is for
// none, and so comes back refused.
[[nodiscard]] PageJob JobFor(const memory::MemoryCore& memory,
                             const transport::PageRequest& request, uint64_t bytes_max);

// Which pages of 4 KiB from `address` on the system has in memory.
[[nodiscard]] std::vector<bool> PresentPages(uint64_t address, uint64_t page_count);

// The pages that came are in the tables from now on. False if none came, or if their region has
// gone meanwhile.
[[nodiscard]] bool MapPages(memory::MemoryCore& memory, const PageJob& job);

// Calls fn(job) for each run of pages of this process that are in memory already, of those that
// `wanted` names. None is brought.
template <class Fn>
void ForEachPresent(const PageJob& wanted, Fn fn) {
  const std::vector<bool> present = PresentPages(wanted.address, wanted.page_count);
  const PageShift shift = wanted.request.fault.page_shift;
  for (uint64_t first = 0; first < present.size();) {
    uint64_t end = first;
    while (end < present.size() && present[end]) ++end;
    if (end > first) {
      PageJob run = wanted;
      run.address += first * shift.bytes();
      run.request.fault.first_page += first;
      run.request.fault.page_count = run.page_count = run.brought = end - first;
      fn(run);
    }
    first = end + 1;
  }
}

}  // namespace verbena::adapter
