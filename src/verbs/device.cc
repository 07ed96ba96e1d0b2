#include "verbena/device.h"

namespace verbena {

std::vector<Device> ListDevices(const Options& limits) { return {Device("verbena0", limits)}; }

}  // namespace verbena
