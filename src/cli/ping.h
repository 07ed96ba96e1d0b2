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

// One message after the other to a server that sends each back, and a look at every byte of what
// came. Ends early, with what it has, at Ctrl-C. A wrong byte is an error.
[[nodiscard]] ErrorOr<Latencies> Ping(const Peer& peer, const PingSpec& spec);

}  // namespace verbena::cli
