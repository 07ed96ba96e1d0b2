#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verbena/counters.h"

// The counters of the port under the names that tools read in /sys: those of every port, and the
// hardware counters that a driver adds. A counter that would always be 0 has no file.

namespace verbena::ibverbs {

struct CounterFile {
  std::string name;
  uint64_t value = 0;
};

[[nodiscard]] std::vector<CounterFile> PortCounterFiles(const DeviceCounters& counters);
[[nodiscard]] std::vector<CounterFile> HardwareCounterFiles(const DeviceCounters& counters);

}  // namespace verbena::ibverbs
