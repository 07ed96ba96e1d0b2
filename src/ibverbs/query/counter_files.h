#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verbena/counters.h"

// The counters of the port under the names that tools look for: those of every port, and those that
// a driver adds. Only what can move is there.

namespace verbena::ibverbs {

struct CounterFile {
  std::string name;
  uint64_t value = 0;
};

[[nodiscard]] std::vector<CounterFile> PortCounterFiles(const DeviceCounters& counters);
[[nodiscard]] std::vector<CounterFile> HardwareCounterFiles(const DeviceCounters& counters);

}  // namespace verbena::ibverbs
