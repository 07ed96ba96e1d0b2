#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "transport/iwarp/iwarp_config.h"

namespace verbena::sim {

// Everything that one seed decides about a run of iWARP queue pairs before it starts, as Swarm does
// for adapters. All probabilities are out of 1000. A value type.
struct IwarpPlan {
  [[nodiscard]] static IwarpPlan Draw(uint64_t seed);

  uint64_t seed = 0;
  uint32_t connections = 1;             // one after the other, on the same two machines
  uint32_t operations = 30;             // of each connection
  Duration duration = Milliseconds(1);  // in which they are posted

  // The queue pairs.
  uint8_t max_rd_atomic = 4;
  uint32_t depth = 8;           // of the send queue
  uint32_t message_max = 4000;  // bytes
  uint32_t send_buffer = 16'384;
  transport::StreamConfig stream = {};

  uint32_t sessions = 0;  // connections that are messages of SCTP, not bytes of TCP

  // The stream, while it is bad.
  uint32_t segment_min = 1;  // bytes of a TCP segment
  uint32_t segment_max = 1460;
  uint32_t reorders = 0;
  uint32_t doubles = 0;
  uint32_t shows = 1000;  // a segment ahead of a gap is shown to the machine at once
  uint32_t beyond = 0;    // a copy of a segment arrives far outside of the window
  uint32_t corrupts = 0;  // a bit changes; only with CRC
  uint32_t resets = 0;    // per connection
  Duration delay_max = Microseconds(10);

  // Memory.
  uint32_t evicts = 0;  // per step
  uint32_t page_failures = 0;
  Duration page_time = Microseconds(50);

  // The programs.
  uint32_t illegal = 0;    // per operation
  uint32_t one_touch = 0;  // per write and read: by a one-touch window
  uint32_t drains = 0;

  [[nodiscard]] bool may_break() const { return corrupts + resets + page_failures + illegal > 0; }
  // One line per option, name=value.
  [[nodiscard]] std::string ToString() const;
};

}  // namespace verbena::sim
