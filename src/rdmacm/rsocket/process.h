#pragma once

#include "rdmacm/rsocket/service_thread.h"
#include "rdmacm/rsocket/socket_table.h"

namespace verbena::rsockets {

// The state that all rsockets of a process share. There is one, because the C calls have no handle
// for it.
struct Process {
  SocketTable table;
  ServiceThread service;
};

// Made by the first call, and never destroyed, because the service thread may run until the process
// exits. Throws if there is no memory or no descriptor.
[[nodiscard]] Process& ThisProcess();

}  // namespace verbena::rsockets
