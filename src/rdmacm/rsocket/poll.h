#pragma once

#include <poll.h>

#include <span>

#include "base/time.h"
#include "rdmacm/rsocket/errno.h"
#include "rdmacm/rsocket/socket_table.h"

namespace verbena::rsockets {

// poll(2) for rsockets and other descriptors: the number with events; 0 after `timeout`. Spins
// briefly, then sleeps on all descriptors.
[[nodiscard]] ErrnoOr<int> Poll(const SocketTable& table, std::span<pollfd> files,
                                Duration timeout);

}  // namespace verbena::rsockets
