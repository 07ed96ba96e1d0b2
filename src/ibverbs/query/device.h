#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>

namespace verbena::ibverbs {

// The device that programs see. Some programs link providers of other devices, which cast an
// ibv_device to a longer structure of their own: they must read zeros there.
struct IbvDevice : ibv_device {
  std::array<std::byte, 512> zeros{};
};

// The only device: verbena0, or verbena_iw0 if the process is to speak iWARP. It is never freed:
// programs compare its address, and keep it after they have freed the device list.
[[nodiscard]] IbvDevice& TheDevice();

// In network byte order. A hash of host name and first GID, computed once per process, so that
// machines on a network have different ones.
[[nodiscard]] __be64 NodeGuid();

// Vendor, part, version, GUIDs, ports and partitions: the attributes that do not depend on Options.
void FillIdentity(ibv_device_attr& out);

}  // namespace verbena::ibverbs
