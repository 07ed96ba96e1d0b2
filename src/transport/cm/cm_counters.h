#pragma once

#include <cstdint>

namespace verbena::transport {

// Counters of a connection manager since its start. A value type.
struct CmCounters {
  uint64_t malformed = 0;   // datagrams that are not messages
  uint64_t duplicates = 0;  // retransmitted REQs and SIDR_REQs
  uint64_t retransmissions = 0;
  uint64_t unknown = 0;  // messages without a connection

  // REQs and SIDR_REQs that were refused without an event for the consumer, by reason.
  uint64_t refused_no_listener = 0;
  uint64_t refused_backlog = 0;
  uint64_t refused_half_open = 0;
  uint64_t refused_full = 0;
  uint64_t refused_invalid = 0;
  uint64_t refused_stale = 0;
  uint64_t refused_laps = 0;

  // Half-open connections that were ended for the request of another peer.
  uint64_t gave_way = 0;
};

}  // namespace verbena::transport
