#pragma once

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "verbena/cm_event.h"
#include "verbena/ip_address.h"

// Converts between the addresses of sockets and those of the connection manager.

namespace verbena::rdmacm {

// The length for its family; 0 if the pointer is null or the family is neither IPv4 nor IPv6.
[[nodiscard]] socklen_t LengthOf(const sockaddr* address);

// REQUIRES: LengthOf is not 0. 0.0.0.0 becomes ::ffff:0.0.0.0, so that it stays an IPv4 address.
[[nodiscard]] CmAddress FromSockaddr(const sockaddr& address);

// An IPv4 address becomes a sockaddr_in, any other a sockaddr_in6.
void Store(const CmAddress& address, sockaddr_storage& to);

// In network byte order; 0 if the family is neither IPv4 nor IPv6.
[[nodiscard]] in_port_t PortOf(const sockaddr& address);

[[nodiscard]] IpAddress WildcardOf(sa_family_t family);
[[nodiscard]] bool IsWildcard(const IpAddress& address);
[[nodiscard]] IpAddress LoopbackOf(const IpAddress& of_the_same_kind);

[[nodiscard]] ibv_gid ToGid(const IpAddress& address);

}  // namespace verbena::rdmacm
