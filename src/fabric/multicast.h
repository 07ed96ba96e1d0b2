#pragma once

#include "base/error.h"
#include "base/result.h"
#include "fabric/address.h"
#include "fabric/udp_socket.h"

namespace verbena::fabric {

// From now on the socket hears datagrams to this group that come in by any interface that works
// now and has an address of the group's kind. One that comes up later is not among them.
[[nodiscard]] ErrorOr<void> JoinGroup(const UdpSocket& socket, const IpAddress& group);

// And no longer.
void LeaveGroup(const UdpSocket& socket, const IpAddress& group);

}  // namespace verbena::fabric
