#pragma once

#include <cstdint>

#include "cli/client.h"
#include "cli/latencies.h"
#include "verbena/error.h"

namespace verbena::cli {

struct PingSpec {
  uint32_t size = 64;
  uint64_t count = 10'000;
};

// Sends one message after the other to a server that echoes it, and checks every byte of the echo.
// Ctrl-C ends it early, with the results so far. A wrong byte is an error.
[[nodiscard]] ErrorOr<Latencies> Ping(const Peer& peer, const PingSpec& spec);

}  // namespace verbena::cli
