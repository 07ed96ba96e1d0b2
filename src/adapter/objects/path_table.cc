#include "adapter/objects/path_table.h"

#include <string>

#include "adapter/group_address.h"
#include "fabric/interfaces.h"

namespace verbena::adapter {

fabric::Route Path::RouteTo(QpNumber qp, const PortMap& ports) const {
  return {
      .from = vector.source,
      .to = {.ip = vector.destination, .port = ports.PortOf(qp)},
      .interface = vector.interface,
      .traffic_class = vector.traffic_class,
      .hop_limit = ends_here || vector.hop_limit == kUsualHopLimit ? uint8_t{0} : vector.hop_limit,
      .from_is_usual = source_is_usual};
}

PathMtu LargestMtuFor(uint32_t ip_bytes, const IpAddress& to) {
  // The largest headers of a packet with payload, and its trailer.
  constexpr uint32_t kPacketOverhead = 64;
  const uint32_t room = fabric::DatagramBytesMax(ip_bytes, to);
  for (const PathMtu mtu : {PathMtu::k4096, PathMtu::k2048, PathMtu::k1024, PathMtu::k512}) {
    if (BytesOf(mtu) + kPacketOverhead <= room) return mtu;
  }
  return PathMtu::k256;
}

ErrorOr<void> CheckMtu(const AddressVector& vector, PathMtu mtu) {
  const auto bytes = fabric::PathMtu(Path{.vector = vector}.RouteTo({}, {}));
  if (!bytes) return {};
  const PathMtu largest = LargestMtuFor(*bytes, vector.destination);
  if (mtu <= largest) return {};
  std::string by;
  if (const auto addresses = fabric::LocalAddresses()) {
    for (const fabric::LocalAddress& address : *addresses) {
      if (address.ip == vector.source) by = " by " + address.interface_name;
    }
  }
  return Fail(Error{ErrorCode::kInvalid,
                    "a path MTU of " + std::to_string(BytesOf(mtu)) +
                        " does not fit the path from " + ToString(vector.source) + by + " to " +
                        ToString(vector.destination) + ", whose MTU is " + std::to_string(*bytes) +
                        ": at most " + std::to_string(BytesOf(largest))});
}

AddressVector Resolved(AddressVector vector) {
  vector.destination = GroupAddress(vector.destination);
  // The routing table has one route for all groups of IPv6. For IPv4 the source decides.
  const bool needs_interface =
      vector.interface == 0 && !vector.destination.ipv4() && vector.destination.is_multicast();
  if (!needs_interface) return vector;
  if (const auto addresses = fabric::LocalAddresses()) {
    for (const fabric::LocalAddress& address : *addresses) {
      if (address.ip == vector.source) vector.interface = address.interface_index;
    }
  }
  return vector;
}

ErrorOr<transport::PathId> PathTable::Add(const AddressVector& vector) {
  if (vector.source.ipv4().has_value() != vector.destination.ipv4().has_value()) {
    return Fail(Error{ErrorCode::kInvalid, "an address vector from " + ToString(vector.source) +
                                               " to " + ToString(vector.destination) +
                                               " mixes IPv4 and IPv6"});
  }
  const bool is_multicast = vector.destination.is_multicast();
  const bool ends_here =
      !is_multicast && (vector.source == vector.destination || addresses_.Has(vector.destination));
  // Only for paths on this machine: there the default source does not change while the address
  // exists. For other paths see DefaultSourceAddresses.
  const bool source_is_usual =
      ends_here && addresses_.SourceFor(vector.destination) == vector.source;
  const Path path{vector, ends_here, is_multicast, source_is_usual};
  has_remote_ = has_remote_ || path.is_remote();
  const auto id = paths_.Insert(path);
  if (!id) return Fail(LimitError(paths_.capacity(), "paths", "paths_max"));
  return *id;
}

}  // namespace verbena::adapter
