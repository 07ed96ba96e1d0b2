#pragma once

#include <sys/select.h>

#include "base/time.h"
#include "rdmacm/rsocket/errno.h"
#include "rdmacm/rsocket/socket_table.h"

namespace verbena::rsockets {

// select(2) over rsockets and other descriptors; the sets may be null.
[[nodiscard]] ErrnoOr<int> Select(const SocketTable& table, int count, fd_set* readable,
                                  fd_set* writable, fd_set* exceptional, Duration timeout);

}  // namespace verbena::rsockets
