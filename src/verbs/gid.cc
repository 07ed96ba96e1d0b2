#include "verbena/gid.h"

#include "adapter/control/adapter.h"

namespace verbena {

std::optional<Gid> ParseGid(std::string_view text) {
  const auto address = fabric::ParseIpAddress(text);
  if (!address) return std::nullopt;
  return Gid{address->bytes};
}

std::string ToString(const Gid& gid) { return fabric::ToString(fabric::IpAddress{gid.bytes}); }

}  // namespace verbena
