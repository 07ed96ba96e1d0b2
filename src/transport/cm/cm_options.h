#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "wire/mad/cm_types.h"

namespace verbena::transport {

// Of a connection manager. Every table has its bound here.
struct CmOptions {
  wire::CaGuid ca_guid{};
  // Local ids are made from it. A number that a peer cannot guess makes them hard to forge, and
  // differs from that of an earlier process at the same address.
  uint32_t id_mask = 0;

  std::size_t connections_max = 16384;  // of all states, timewait included
  std::size_t half_open_max = 1024;     // that peers asked for and have not confirmed
  std::size_t listeners_max = 4096;
  std::size_t sidr_max = 1024;

  // The longest that a datagram is under way, in one direction.
  Duration packet_life = Milliseconds(10);
  // A DREQ is sent again after this, if not sooner: a peer that has ended does not answer, and the
  // consumer waits for the end of a connection that it has no more use for.
  Duration disconnect_answer = Milliseconds(100);
  // How long the end of a connection is remembered.
  Duration time_wait = Milliseconds(100);
  // A request is not kept longer than this for a consumer or a peer, whatever its timeouts say.
  Duration patience_max = Seconds(600);
  // How long a SIDR_REQ, which says nothing of its timeouts, and the answer to it are kept.
  Duration sidr_patience = Seconds(10);
};

}  // namespace verbena::transport
