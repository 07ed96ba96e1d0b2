#pragma once

#include "rdmacm/rsocket/service_thread.h"
#include "rdmacm/rsocket/socket_table.h"

namespace verbena::rsockets {

// What all rsockets of a process share. The C calls have nothing to find it by, so there is one.
struct Process {
  SocketTable table;
  ServiceThread service;
};

// Made by the first call, and never ended: the service thread may run until the process exits.
// Throws if there is no memory or no descriptor.
[[nodiscard]] Process& ThisProcess();

}  // namespace verbena::rsockets
