#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "verbena/transport_type.h"

namespace verbena::ibverbs {

// The device that programs see. Some programs link providers of other devices, which cast an
// ibv_device to a longer structure of their own: they must read zeros there.
struct IbvDevice : ibv_device {
  std::array<std::byte, 512> zeros{};
  TransportType transport = TransportType::kRoce;
};

// One device for each of the transports, in their order: verbena0 speaks RoCE, verbena_iw0 iWARP.
[[nodiscard]] std::vector<IbvDevice> MakeDevices(std::span<const TransportType> transports);

// The devices that the environment names. They are never freed: programs compare their addresses,
// and keep them after they have freed the device list.
[[nodiscard]] std::span<IbvDevice> TheDevices();
// The first: that of programs that choose none, of librdmacm and of the files in /sys.
[[nodiscard]] inline IbvDevice& TheDevice() { return TheDevices().front(); }

[[nodiscard]] inline TransportType TransportOf(const ibv_device& device) {
  return static_cast<const IbvDevice&>(device).transport;
}

// In network byte order. A hash of host name and first GID, computed once per process, so that
// machines on a network have different ones; those of the devices of a machine differ, too.
[[nodiscard]] __be64 NodeGuid(TransportType transport);

// Vendor, part, version, GUIDs, ports and partitions: the attributes that do not depend on Options
// but for the transport.
void FillIdentity(TransportType transport, ibv_device_attr& out);

}  // namespace verbena::ibverbs
