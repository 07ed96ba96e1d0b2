#pragma once

#include "adapter/control/adapter.h"
#include "verbena/counters.h"

namespace verbena::verbs {

[[nodiscard]] DeviceCounters CountersOf(const adapter::AdapterReport& report);

// Adds the counters of another adapter.
void Add(DeviceCounters& sum, const DeviceCounters& counters);

}  // namespace verbena::verbs
