#pragma once

#include <cstdint>

#include "adapter/cm/cm_end.h"
#include "adapter/iwarp_options.h"
#include "adapter/objects/iwarp_stream.h"

namespace verbena::adapter {

// An id of the connection manager of an iWARP adapter.
//
// Owned by IwarpCm; under the engine's lock.
struct IwarpEnd : CmEnd {
  using CmEnd::CmEnd;

  IwarpSocket socket = {};   // bound, and of a listener
  StreamId listens_as = {};  // in the set of files
  bool is_paused = false;    // a listener that is not watched, for a while
  uint32_t backlog = 0;
  StreamsServed serves = {};
  uint32_t untaken = 0;           // requests that the program has not taken
  IwarpStream* stream = nullptr;  // of a connection; nullptr once it is gone
  bool is_established = false;
  ConnectionParameters parameters = {};  // of Connect
};

// An event about a connection.
[[nodiscard]] inline CmEvent EventOf(CmEventType type, const IwarpStream& stream) {
  CmEvent event;
  event.type = type;
  event.request = CmRequestId(stream.id.value());
  event.local = stream.socket().local();
  event.remote = stream.socket().peer();
  event.stream = stream.kind;
  return event;
}

}  // namespace verbena::adapter
