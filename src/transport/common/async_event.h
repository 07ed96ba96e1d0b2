#pragma once

#include <cstdint>

#include "wire/roce/types.h"

namespace verbena::queue {
class CompletionQueue;
class SharedReceiveQueue;
}  // namespace verbena::queue

namespace verbena::transport {

// What the program hears beside its completions, in the words of the verbs. Path migration is not
// offered.
enum class AsyncEventType : uint8_t {
  kCommunicationEstablished,  // a packet arrived before the QP was told it may send
  kSendQueueDrained,
  kLastWqeReached,  // a QP on a shared receive queue will take no more from it
  kQpFatal,
  kQpRequestError,
  kQpAccessError,
  kCqError,
  kSrqLimitReached,
  kGidChange,  // the port has another table of GIDs; no queue is named
};

const char* NameOf(AsyncEventType type);

struct AsyncEvent {
  AsyncEventType type;
  QpNumber qp;
  queue::CompletionQueue* cq = nullptr;      // kCqError: which
  queue::SharedReceiveQueue* srq = nullptr;  // kSrqLimitReached: which

  friend bool operator==(const AsyncEvent&, const AsyncEvent&) = default;
};

}  // namespace verbena::transport
