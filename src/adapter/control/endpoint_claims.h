#pragma once

#include <cstdint>
#include <memory>

#include "adapter/error.h"
#include "adapter/loop/engine.h"
#include "adapter/loop/progress_thread.h"
#include "adapter/options.h"
#include "fabric/endpoints.h"
#include "fabric/udp_fabric.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

// Which endpoints a process opens, and when: one at first, another for each 3,072 queue pairs, and
// one that receives multicast. All functions fail with kLimit and a text if the machine has none
// left.

// Opens the n-th endpoint of this process.
[[nodiscard]] ErrorOr<std::unique_ptr<fabric::Fabric>> OpenEndpoint(const AdapterOptions& options,
                                                                    fabric::EndpointUse use,
                                                                    uint64_t n = 0);

// Endpoint 0, which has the RoCEv2 port; nullptr if another process has it.
[[nodiscard]] std::unique_ptr<fabric::Fabric> OpenRocePort(const AdapterOptions& options);

// The number of the next queue pair. Opens another endpoint if the present ones have no number
// left, and adds it to the wait of the progress thread.
[[nodiscard]] ErrorOr<QpNumber> NextNumber(Engine& engine, const AdapterOptions& options,
                                           ProgressThread& progress_thread)
    VERBENA_REQUIRES(engine);

// The endpoint that receives multicast datagrams. Opens one if this process has none.
[[nodiscard]] ErrorOr<fabric::Fabric*> MulticastEndpoint(Engine& engine,
                                                         const AdapterOptions& options,
                                                         ProgressThread& progress_thread)
    VERBENA_REQUIRES(engine);

}  // namespace verbena::adapter
