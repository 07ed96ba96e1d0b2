#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "wire/mad/cm_types.h"

namespace verbena::transport {

// Options of a connection manager. Every table has its bound here.
struct CmOptions {
  wire::CaGuid ca_guid{};
  // Local ids are derived from it. A random number makes them hard to guess, and different from
  // those of an earlier process at the same address.
  uint32_t id_mask = 0;

  std::size_t connections_max = 16384;  // in all states, including timewait
  std::size_t half_open_max = 1024;     // requested by peers and not established yet
  std::size_t listeners_max = 4096;
  std::size_t sidr_max = 1024;

  // The maximum lifetime of a datagram in one direction.
  Duration packet_life = Milliseconds(10);
  // The retransmission time of a DREQ is at most this: a peer that has ended does not respond, and
  // the consumer waits for the end of a connection that it no longer needs.
  Duration disconnect_answer = Milliseconds(100);
  // How long an ended connection is remembered.
  Duration time_wait = Milliseconds(100);
  // The maximum time that a request waits for a consumer or a peer, whatever its timeouts are.
  Duration patience_max = Seconds(600);
  // How long a SIDR_REQ, which carries no timeouts, and the response to it are kept.
  Duration sidr_patience = Seconds(10);
};

}  // namespace verbena::transport
