#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "verbena/gid.h"

namespace verbena::ibverbs {

// The contents of the 40 bytes in front of a received datagram: an IPv6 header, or an IPv4 header
// in the last 20 bytes. (IBA A17.4.5.2) A value type.
struct Grh {
  Gid source;
  Gid destination;
  uint32_t flow_label = 0;
  uint8_t traffic_class = 0;

  [[nodiscard]] static Grh Of(const ibv_grh& bytes);
};

}  // namespace verbena::ibverbs
