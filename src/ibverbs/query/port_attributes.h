#pragma once

#include <infiniband/verbs.h>

#include "ibverbs/query/gid_table.h"
#include "ibverbs/settings.h"

namespace verbena::ibverbs {

// The attributes of the port, for each query: a call of the verbs, or a file that tells about the
// device.
[[nodiscard]] ibv_port_attr PortAttributes(const GidTable::Entries& entries, LinkLayer link_layer);

// Of its only partition, in both byte orders.
inline constexpr __be16 kDefaultPartition = 0xFFFF;

}  // namespace verbena::ibverbs
