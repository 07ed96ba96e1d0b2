#include "fabric/multicast.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>

#include "fabric/interfaces.h"
#include "fabric/socket_address.h"

namespace verbena::fabric {
namespace {

bool Change(const UdpSocket& socket, const IpAddress& group, uint32_t interface, int option) {
  const bool ipv4 = group.is_ipv4();
  group_req request{};
  request.gr_interface = interface;
  // The option belongs to the family of the group, whatever the family of the socket.
  if (ipv4) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr = ToInAddr(group);
    std::memcpy(&request.gr_group, &name, sizeof name);
  } else {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_addr = ToIn6Addr(group);
    std::memcpy(&request.gr_group, &name, sizeof name);
  }
  return setsockopt(socket.fd(), ipv4 ? IPPROTO_IP : IPPROTO_IPV6, option, &request,
                    sizeof request) == 0;
}

std::set<uint32_t> InterfacesFor(const IpAddress& group) {
  std::set<uint32_t> interfaces;
  const auto addresses = LocalAddresses();
  if (!addresses) return interfaces;
  for (const LocalAddress& address : *addresses) {
    if (address.up && address.ip.is_ipv4() == group.is_ipv4()) {
      interfaces.insert(address.interface_index);
    }
  }
  return interfaces;
}

Error WhyNot(const IpAddress& group) {
  Error error = SystemError("cannot join the multicast group " + ToString(group));
  if (errno == ENOBUFS)
    error.text += "; to allow more: sysctl -w net.ipv4.igmp_max_memberships=256";
  return error;
}

}  // namespace

ErrorOr<void> JoinGroup(const UdpSocket& socket, const IpAddress& group) {
  bool joined = false;
  errno = ENODEV;
  for (const uint32_t interface : InterfacesFor(group)) {
    if (Change(socket, group, interface, MCAST_JOIN_GROUP)) {
      joined = true;
    } else if (errno == ENOBUFS) {
      const Error error = WhyNot(group);
      LeaveGroup(socket, group);
      return Fail(error);
    }
  }
  if (!joined) return Fail(WhyNot(group));
  return {};
}

void LeaveGroup(const UdpSocket& socket, const IpAddress& group) {
  for (const uint32_t interface : InterfacesFor(group)) {
    Change(socket, group, interface, MCAST_LEAVE_GROUP);
  }
}

}  // namespace verbena::fabric
