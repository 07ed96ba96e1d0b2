#include "rdmacm/rsocket/datagram_destinations.h"

#include <algorithm>

namespace verbena::rsockets {

DatagramDestination* DatagramDestinations::Find(const SocketName& name) {
  const auto found = destinations_.find(name);
  if (found == destinations_.end()) return nullptr;
  found->second.last_use = ++uses_;
  return &found->second;
}

DatagramDestination& DatagramDestinations::Insert(const SocketName& name) {
  if (!destinations_.contains(name) && destinations_.size() >= kDestinationsMax) {
    // A linear search, only for a peer beyond the bound: resolving its path costs much more.
    destinations_.erase(std::ranges::min_element(
        destinations_, {}, [](const auto& entry) { return entry.second.last_use; }));
  }
  DatagramDestination& destination = destinations_[name];
  destination.last_use = ++uses_;
  return destination;
}

DatagramDestination* DatagramDestinations::FindByResolver(const rdma_cm_id* resolver) {
  const auto found = std::ranges::find_if(destinations_, [&](const auto& entry) {
    return resolver != nullptr && entry.second.resolver.get() == resolver;
  });
  return found == destinations_.end() ? nullptr : &found->second;
}

}  // namespace verbena::rsockets
