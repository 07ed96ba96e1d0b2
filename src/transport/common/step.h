#pragma once

#include "base/time.h"
#include "memory/memory_core.h"
#include "transport/common/outbox.h"
#include "transport/common/refusal_counters.h"

namespace verbena::transport {

// The context of one call of a state machine: the time, the tables, and the outbox for its effects.
// The state machine keeps no reference to it.
struct Step {
  Time now;
  memory::MemoryCore& memory;
  Outbox& outbox;
  // The measured time that a page-in takes; Max if there is no measurement.
  Duration page_service = Duration::Max();
  // Some path may be losing segments, so machines report groups that arrive (SegmentReport).
  bool segments_in_doubt = false;
  RefusalCounters* refusals = nullptr;  // nullptr: refusals are not counted
};

}  // namespace verbena::transport
