#pragma once

#include <string>

#include "verbena/counters.h"

namespace verbena::ibverbs {

// The counters that are not 0, one line each, for people to read.
[[nodiscard]] std::string InWords(const DeviceCounters& counters);

}  // namespace verbena::ibverbs
