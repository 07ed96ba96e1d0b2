#include "ibverbs/query/grh.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>

namespace verbena::ibverbs {
namespace {

constexpr size_t kSize = 40;
static_assert(sizeof(ibv_grh) == kSize);

using Bytes = std::array<uint8_t, kSize>;

Gid Ipv6(const Bytes& bytes, size_t offset) {
  Gid gid;
  std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(offset), gid.bytes.size(), gid.bytes.begin());
  return gid;
}

Gid Ipv4(const Bytes& bytes, size_t offset) {
  Gid gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}};
  std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(offset), 4, gid.bytes.begin() + 12);
  return gid;
}

Grh FromIpv4(const Bytes& bytes) {
  constexpr size_t kHeader = 20;
  return {.source = Ipv4(bytes, kHeader + 12),
          .destination = Ipv4(bytes, kHeader + 16),
          .traffic_class = bytes[kHeader + 1]};
}

Grh FromIpv6(const Bytes& bytes) {
  const uint32_t first = static_cast<uint32_t>(bytes[0]) << 24 |
                         static_cast<uint32_t>(bytes[1]) << 16 |
                         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
  return {.source = Ipv6(bytes, 8),
          .destination = Ipv6(bytes, 24),
          .flow_label = first & 0xFFFFF,
          .traffic_class = static_cast<uint8_t>(first >> 20)};
}

}  // namespace

Grh Grh::Of(const ibv_grh& grh) {
  const auto bytes = std::bit_cast<Bytes>(grh);
  constexpr int kVersion6 = 6;
  return bytes[0] >> 4 == kVersion6 ? FromIpv6(bytes) : FromIpv4(bytes);
}

}  // namespace verbena::ibverbs
