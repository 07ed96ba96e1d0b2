#include "ibverbs/query/lid.h"

#include <algorithm>

namespace verbena::ibverbs {
namespace {

// Offsets of the last two bytes of the address.
constexpr size_t kHigh = 14;
constexpr size_t kLow = 15;

}  // namespace

std::optional<GidEntry> LidOwner(std::span<const GidEntry> present) {
  const auto found = std::ranges::find_if(
      present, [](const GidEntry& entry) { return entry.gid.is_ipv4() && !entry.loopback; });
  if (found != present.end()) return *found;
  const auto loopback =
      std::ranges::find_if(present, [](const GidEntry& entry) { return entry.gid.is_ipv4(); });
  return loopback != present.end() ? std::optional(*loopback) : std::nullopt;
}

uint16_t LidOf(const Gid& gid) {
  return static_cast<uint16_t>(gid.bytes[kHigh] << 8 | gid.bytes[kLow]);
}

Gid GidOfLid(uint16_t lid, const Gid& own) {
  Gid gid = own;
  gid.bytes[kHigh] = static_cast<uint8_t>(lid >> 8);
  gid.bytes[kLow] = static_cast<uint8_t>(lid);
  return gid;
}

}  // namespace verbena::ibverbs
