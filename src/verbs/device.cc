#include "verbena/device.h"

namespace verbena {

std::vector<Device> ListDevices(const Options& limits) {
  const bool is_iwarp = IsIwarp(limits.transport);
  return {Device(is_iwarp ? "verbena_iw0" : "verbena0", limits)};
}

}  // namespace verbena
