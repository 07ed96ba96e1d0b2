#pragma once

#include <poll.h>

#include <span>

#include "base/time.h"
#include "rdmacm/rsocket/errno.h"
#include "rdmacm/rsocket/socket_table.h"

namespace verbena::rsockets {

// poll(2) over rsockets and other descriptors: how many have events, 0 if `timeout` has passed.
// Spins a little, then sleeps on the descriptors of all.
[[nodiscard]] ErrnoOr<int> Poll(const SocketTable& table, std::span<pollfd> files,
                                Duration timeout);

}  // namespace verbena::rsockets
