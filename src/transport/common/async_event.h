#pragma once

#include "verbena/async_event.h"
#include "verbena/numbers.h"

namespace verbena::queue {
class CompletionQueue;
class SharedReceiveQueue;
}  // namespace verbena::queue

namespace verbena::transport {

// An asynchronous event as a queue pair raises it: with pointers to the queues. There is no event
// for path migration, which is not supported.
struct RaisedEvent {
  AsyncEventType type;
  QpNumber qp;
  queue::CompletionQueue* cq = nullptr;      // of kCqError
  queue::SharedReceiveQueue* srq = nullptr;  // of kSrqLimitReached

  friend bool operator==(const RaisedEvent&, const RaisedEvent&) = default;
};

}  // namespace verbena::transport
