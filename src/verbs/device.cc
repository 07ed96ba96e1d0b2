#include "verbena/device.h"

namespace verbena {

std::vector<Device> ListDevices(const Options& limits) {
  const auto make = [&](TransportType transport) {
    Options of_device = limits;
    of_device.transport = transport;
    return Device(IsIwarp(transport) ? "verbena_iw0" : "verbena0", of_device);
  };
  const bool is_iwarp = IsIwarp(limits.transport);
  return {make(limits.transport), make(is_iwarp ? TransportType::kRoce : TransportType::kIwarp)};
}

}  // namespace verbena
