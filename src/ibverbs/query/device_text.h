#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "verbena/gid.h"

// Formats values as the kernel does in its files about a device. The texts have no newline.

namespace verbena::ibverbs {

// At least `digits` digits, without 0x.
[[nodiscard]] std::string HexText(uint64_t value, size_t digits);

// "0212:3456:789a:bcde"
[[nodiscard]] std::string GuidText(__be64 guid);
// "fe80:0000:0000:0000:0000:0000:0000:0001"
[[nodiscard]] std::string GidText(const Gid& gid);

// "100 Gb/sec (4X EDR)", from active_width and active_speed.
[[nodiscard]] std::string RateText(const ibv_port_attr& port);

// Processors 0 to count - 1 as a list, "0-7", and as a mask, "ff", in groups of 32 bits with the
// highest first.
[[nodiscard]] std::string CpuListText(unsigned count);
[[nodiscard]] std::string CpuMaskText(unsigned count);

}  // namespace verbena::ibverbs
