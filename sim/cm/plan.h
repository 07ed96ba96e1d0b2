#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "transport/cm/cm_options.h"

namespace verbena::sim {

// Everything that one seed decides about a run of connection managers before it starts, as Swarm
// does for adapters. All probabilities are out of 1000. A value type.
struct CmPlan {
  [[nodiscard]] static CmPlan Draw(uint64_t seed);

  uint64_t seed = 0;
  uint32_t nodes = 2;
  uint32_t conversations = 10;            // requested connections and SIDR requests
  Duration duration = Milliseconds(200);  // in which they begin
  uint32_t sidr = 0;                      // per conversation: SIDR instead of a connection

  // The network, while it is bad.
  uint32_t loss = 0;
  uint32_t doubles = 0;
  uint32_t mangled = 0;  // arrives again, from an outsider and with changed bytes
  Duration delay_max = Microseconds(100);

  // The requests.
  uint8_t response_timeout = 10;
  uint8_t retries = 3;

  // The consumers.
  uint32_t rejects = 0;
  uint32_t mras = 0;
  uint32_t ignores = 0;   // never responds
  uint32_t destroys = 0;  // at any time
  uint32_t notifies = 0;  // data arrives before the RTU
  Duration think_max = Microseconds(100);
  uint32_t crashes = 0;  // of nodes, which restart
  std::size_t backlog = 16;
  transport::CmOptions options = {};

  // Everything that is sent arrives, possibly late and reordered.
  [[nodiscard]] bool is_lossless() const { return loss == 0 && crashes == 0; }
  // Half-open connections may have to give way to those of other peers.
  [[nodiscard]] bool is_crowded() const { return options.half_open_max < conversations; }
  // One line per option, name=value.
  [[nodiscard]] std::string ToString() const;
};

}  // namespace verbena::sim
