#include "adapter/path_table.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstring>

#include "adapter/addresses.h"
#include "fabric/file_descriptor.h"
#include "fabric/interfaces.h"

namespace verbena::adapter {

fabric::Route Path::RouteTo(wire::QpNumber qp, const PortMap& ports) const {
  return {.from = FabricAddress(vector.source),
          .to = {.ip = FabricAddress(vector.destination), .port = ports.PortOf(qp)},
          .interface = vector.interface,
          .traffic_class = vector.traffic_class,
          .from_is_usual = source_is_usual};
}

ErrorOr<transport::PathId> PathTable::Add(const AddressVector& vector) {
  if (vector.source.ipv4().has_value() != vector.destination.ipv4().has_value()) {
    return Fail(Error{ErrorCode::kInvalid, "an address vector from " + ToString(vector.source) +
                                               " to " + ToString(vector.destination) +
                                               " mixes IPv4 and IPv6"});
  }
  const bool is_multicast = FabricAddress(vector.destination).is_multicast();
  const bool ends_here =
      !is_multicast && (vector.source == vector.destination || IsLocal(vector.destination));
  // Within a machine, where it is a good part of the way, and cannot change while the address
  // stays.
  const bool source_is_usual =
      ends_here &&
      fabric::UsualSource(FabricAddress(vector.destination)) == FabricAddress(vector.source);
  const auto id = paths_.Insert({vector, ends_here, is_multicast, source_is_usual});
  if (!id) return Fail(LimitError(paths_.capacity(), "paths", "paths_max"));
  return *id;
}

bool IsLocal(const wire::IpAddress& address) {
  const auto v4 = address.ipv4();
  const fabric::FileDescriptor file(socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!file.is_open()) return false;
  if (v4) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(v4->value());
    return bind(file.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
  }
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  std::memcpy(&name.sin6_addr, address.bytes.data(), address.bytes.size());
  return bind(file.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
}

}  // namespace verbena::adapter
