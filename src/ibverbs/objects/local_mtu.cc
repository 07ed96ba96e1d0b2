#include "ibverbs/objects/local_mtu.h"

#include <algorithm>
#include <optional>

#include "ibverbs/query/port_attributes.h"

namespace verbena::ibverbs {

PathMtu LocalMtu(Context& context, const AddressVector& path, PathMtu asked) {
  const auto gids = context.gids.Read();
  const auto largest = verbena::Context::LargestMtu(path);
  // The queue pair refuses an unusable path itself.
  if (!gids || !largest) return asked;
  const bool is_local = std::ranges::any_of(*gids, [&](const std::optional<GidEntry>& entry) {
    return entry && entry->gid == path.destination;
  });
  const ibv_port_attr port = PortAttributes(*gids, context.settings.link_layer);
  return Granted({.asked = asked,
                  .active = static_cast<PathMtu>(port.active_mtu),
                  .largest = *largest,
                  .is_local = is_local,
                  .strict = context.settings.strict});
}

}  // namespace verbena::ibverbs
