#pragma once

#include <infiniband/verbs.h>

#include "ibverbs/query/gid_table.h"
#include "ibverbs/settings.h"

namespace verbena::ibverbs {

// The attributes of the port, for the calls of the verbs and for the files about the device.
[[nodiscard]] ibv_port_attr PortAttributes(const GidTable::Entries& entries, LinkLayer link_layer);

// The P_Key of the only partition; the same in both byte orders.
inline constexpr __be16 kDefaultPartition = 0xFFFF;

}  // namespace verbena::ibverbs
