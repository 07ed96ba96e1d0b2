#pragma once

#include <rdma/rdma_cma.h>
#include <sys/types.h>
#include <unistd.h>

#include <memory>

#include "verbena/connection_manager.h"
#include "verbena/error.h"

namespace verbena::rdmacm {

// An event channel: the C structure, and the channel of the connection manager, whose descriptor
// the program sees. Owned by the program, or by a synchronous id.
struct EventChannel : rdma_event_channel {
  [[nodiscard]] static ErrorOr<std::unique_ptr<EventChannel>> Create();

  // Shared with the threads that wait: the program may destroy the channel meanwhile (rping does).
  // Such a thread waits on, as it would in the kernel, which keeps the file of a blocked read.
  std::shared_ptr<CmChannel> handle;
  pid_t process = getpid();

  // A forked child gets no events: they belong to its parent.
  [[nodiscard]] bool is_forked() const { return process != getpid(); }
};

[[nodiscard]] inline EventChannel& Cast(rdma_event_channel* channel) {
  return *static_cast<EventChannel*>(channel);
}

}  // namespace verbena::rdmacm
