#pragma once

#include <cstdint>

#include "verbena/numbers.h"

namespace verbena {

// What a program hears beside its completions.
enum class AsyncEventType : uint8_t {
  kCommunicationEstablished,  // a packet arrived before the queue pair was told it may send
  kSendQueueDrained,
  kLastWqeReached,  // a queue pair on a shared receive queue will take no more from it
  kQpFatal,
  kQpRequestError,
  kQpAccessError,
  kCqError,
  kSrqLimitReached,
  kGidChange,  // the port has another table of GIDs; no queue is named
};

const char* NameOf(AsyncEventType type);

// What happened, and to what: the queue pair, or the one of the other two that the type is about.
struct AsyncEvent {
  AsyncEventType type = {};
  QpNumber qp = {};
  CqId cq = {};
  SrqId srq = {};

  friend bool operator==(const AsyncEvent&, const AsyncEvent&) = default;
};

}  // namespace verbena
