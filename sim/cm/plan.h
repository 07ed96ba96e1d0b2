#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "transport/cm/cm_options.h"

namespace verbena::sim {

// All that one seed decides about a run of connection managers before it starts; as Swarm does for
// adapters. All chances are out of 1000. A value type.
struct CmPlan {
  [[nodiscard]] static CmPlan Draw(uint64_t seed);

  uint64_t seed = 0;
  uint32_t nodes = 2;
  uint32_t conversations = 10;            // connections that are asked for, and SIDR questions
  Duration duration = Milliseconds(200);  // in which they begin
  uint32_t sidr = 0;                      // per conversation, that it is one of SIDR messages

  // Of the network, while it is bad.
  uint32_t loss = 0;
  uint32_t doubles = 0;
  uint32_t mangled = 0;  // arrives once more, from an outsider and with other bytes
  Duration delay_max = Microseconds(100);

  // Of the requests.
  uint8_t response_timeout = 10;
  uint8_t retries = 3;

  // Of the consumers.
  uint32_t rejects = 0;
  uint32_t mras = 0;
  uint32_t ignores = 0;   // never answers
  uint32_t destroys = 0;  // at any moment
  uint32_t notifies = 0;  // data comes before the RTU
  Duration think_max = Microseconds(100);
  uint32_t crashes = 0;  // of nodes, which start anew
  std::size_t backlog = 16;
  transport::CmOptions options = {};

  // Then what is sent arrives, though late and in another order.
  [[nodiscard]] bool is_lossless() const { return loss == 0 && crashes == 0; }
  // One line per option, name=value.
  [[nodiscard]] std::string ToString() const;
};

}  // namespace verbena::sim
