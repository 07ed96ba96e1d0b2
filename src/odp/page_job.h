#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "transport/common/outbox.h"

namespace verbena::odp {

// A request for pages that a queue pair waits for: where they are, and, once the job is done, how
// many of them were paged in.
struct PageJob {
  transport::PageRequest request;
  uint64_t address = 0;  // of the first page
  uint64_t page_count = 0;
  uint64_t paged_in = 0;   // pages from the first on; 0 if the first is not available
  bool is_mapped = false;  // the pages are in the tables already
  bool is_ahead = false;   // a prefetch: nothing waits for the pages yet
  Time asked_at = {};
  // The memory of the region, if it is contiguous.
  uint64_t region_address = 0;
  uint64_t region_bytes = 0;
};

// What remains of the job after its first `pages`, as a prefetch for the queue pair.
[[nodiscard]] inline PageJob RestAfter(const PageJob& job, uint64_t pages) {
  PageJob rest = job;
  memory::Fault& fault = rest.request.fault;
  rest.page_count -= pages;
  rest.address += pages * fault.page_shift.bytes();
  fault.first_page += pages;
  fault.page_count -= std::min(pages, fault.page_count);
  rest.paged_in = 0;
  rest.is_mapped = false;
  rest.is_ahead = true;
  return rest;
}

}  // namespace verbena::odp
