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

// Which endpoints a process takes, and when: one to begin with, another for each 3,072 queue pairs,
// and one that hears groups. All fail with kLimit, in words, when the machine has none left.

// Opens the n-th one of this process.
[[nodiscard]] ErrorOr<std::unique_ptr<fabric::Fabric>> OpenEndpoint(const AdapterOptions& options,
                                                                    fabric::EndpointUse use,
                                                                    uint64_t n = 0);

// The number of the next queue pair. Takes another endpoint if those that there are have none left,
// and has the progress thread wait for it, too.
[[nodiscard]] ErrorOr<QpNumber> NextNumber(Engine& engine, const AdapterOptions& options,
                                           ProgressThread& progress_thread)
    VERBENA_REQUIRES(engine);

// The endpoint that datagrams to groups come to. Takes one if this process has none of them.
[[nodiscard]] ErrorOr<fabric::Fabric*> MulticastEndpoint(Engine& engine,
                                                         const AdapterOptions& options,
                                                         ProgressThread& progress_thread)
    VERBENA_REQUIRES(engine);

}  // namespace verbena::adapter
