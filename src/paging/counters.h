#pragma once

#include <cstdint>

namespace verbena::paging {

// Counts of what a ResidentSet has done so far, in granules unless said otherwise, and its present
// state.
struct Counters {
  uint64_t requests = 0;  // tickets
  uint64_t hits = 0;      // requested, and in memory already
  uint64_t zeros = 0;     // requested, and never written
  uint64_t reads = 0;     // begun, read-ahead included
  uint64_t reads_ahead = 0;
  uint64_t ahead_hits = 0;    // read ahead, then requested
  uint64_t ahead_wastes = 0;  // read ahead, and evicted without a request
  uint64_t writes = 0;        // begun
  uint64_t drops = 0;
  uint64_t unmapped = 0;        // unmap candidates
  uint64_t rescued = 0;         // of these, requested before they were evicted
  uint64_t waits = 0;           // tickets that waited for memory
  uint64_t broken = 0;          // corrupt or unreadable
  uint64_t refused_broken = 0;  // tickets
  uint64_t refused_limit = 0;   // tickets
  uint64_t read_failures = 0;
  uint64_t write_failures = 0;  // a full store included
  uint32_t overrun_peak = 0;    // most granules ever above the budget because of them

  uint32_t in_memory = 0;   // now
  uint32_t unwritable = 0;  // now
};

}  // namespace verbena::paging
