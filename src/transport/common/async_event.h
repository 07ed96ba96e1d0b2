#pragma once

#include "verbena/async_event.h"
#include "verbena/numbers.h"

namespace verbena::queue {
class CompletionQueue;
class SharedReceiveQueue;
}  // namespace verbena::queue

namespace verbena::transport {

// An asynchronous event as a queue pair raises it, with the queues themselves. Path migration is
// not offered.
struct RaisedEvent {
  AsyncEventType type;
  QpNumber qp;
  queue::CompletionQueue* cq = nullptr;      // kCqError: which
  queue::SharedReceiveQueue* srq = nullptr;  // kSrqLimitReached: which

  friend bool operator==(const RaisedEvent&, const RaisedEvent&) = default;
};

}  // namespace verbena::transport
