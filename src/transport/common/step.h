#pragma once

#include "base/time.h"
#include "memory/memory_core.h"
#include "transport/common/outbox.h"
#include "transport/common/refusal_counters.h"

namespace verbena::transport {

// What every input comes with: the time, the tables, and where to put the effects. A machine keeps
// nothing of it.
struct Step {
  Time now;
  memory::MemoryCore& memory;
  Outbox& outbox;
  // How long pages take to come, as measured; Max where it was not measured.
  Duration page_service = Duration::Max();
  // Some path may be losing segments: that others arrive is worth a report (SegmentReport).
  bool segments_in_doubt = false;
  RefusalCounters* refusals = nullptr;  // null where they are not counted
};

}  // namespace verbena::transport
