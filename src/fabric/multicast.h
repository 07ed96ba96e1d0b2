#pragma once

#include "base/error.h"
#include "base/result.h"
#include "fabric/address.h"
#include "fabric/udp_socket.h"

namespace verbena::fabric {

// The socket receives datagrams to this group on all interfaces that are up and have an address of
// the group's family. Interfaces that come up later are not included.
[[nodiscard]] ErrorOr<void> JoinGroup(const UdpSocket& socket, const IpAddress& group);

// Ends the membership.
void LeaveGroup(const UdpSocket& socket, const IpAddress& group);

}  // namespace verbena::fabric
