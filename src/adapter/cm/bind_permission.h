#pragma once

#include <cstdint>

namespace verbena::adapter {

// The first port that needs no CAP_NET_BIND_SERVICE: net.ipv4.ip_unprivileged_port_start of the
// network namespace, or 1024 if it cannot be read.
[[nodiscard]] uint16_t FirstUnprivilegedPort();

// Whether this process may bind the port, by the rules of TCP ports.
[[nodiscard]] bool MayBindPort(uint16_t port);

}  // namespace verbena::adapter
