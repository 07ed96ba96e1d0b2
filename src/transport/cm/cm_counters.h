#pragma once

#include <cstdint>

namespace verbena::transport {

// What a connection manager has seen, since the start. A value type.
struct CmCounters {
  uint64_t malformed = 0;   // datagrams that are not messages
  uint64_t duplicates = 0;  // REQs and SIDR_REQs that were known
  uint64_t retransmissions = 0;
  uint64_t unknown = 0;  // messages about no connection

  // REQs and SIDR_REQs that were refused before the consumer heard of them, by why.
  uint64_t refused_no_listener = 0;
  uint64_t refused_backlog = 0;
  uint64_t refused_half_open = 0;
  uint64_t refused_full = 0;
  uint64_t refused_invalid = 0;
  uint64_t refused_stale = 0;
  uint64_t refused_laps = 0;
};

}  // namespace verbena::transport
