#pragma once

#include <string>

#include "verbena/counters.h"

namespace verbena::ibverbs {

// For a person: a line each, and nothing about what never happened.
[[nodiscard]] std::string InWords(const DeviceCounters& counters);

}  // namespace verbena::ibverbs
