#pragma once

#include <cstdint>

#include "adapter/cm/cm_end.h"
#include "adapter/objects/iwarp_stream.h"

namespace verbena::adapter {

// An id of the connection manager of an iWARP adapter.
//
// Owned by IwarpCm; under the engine's lock.
struct IwarpEnd : CmEnd {
  using CmEnd::CmEnd;

  IwarpSocket socket = {};   // bound, and of a listener
  StreamId listens_as = {};  // in the set of files
  uint32_t backlog = 0;
  uint32_t untaken = 0;           // requests that the program has not taken
  IwarpStream* stream = nullptr;  // of a connection; nullptr once it is gone
  bool is_established = false;
  ConnectionParameters parameters = {};  // of Connect
};

}  // namespace verbena::adapter
