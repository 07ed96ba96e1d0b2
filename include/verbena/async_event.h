#pragma once

#include <cstdint>

#include "verbena/numbers.h"

namespace verbena {

// Events that a program gets beside its completions (IBA 11.6.3).
enum class AsyncEventType : uint8_t {
  kCommunicationEstablished,  // a packet arrived while the queue pair was in RTR
  kSendQueueDrained,
  kLastWqeReached,  // a queue pair in error will take no more receives from its SRQ
  kQpFatal,
  kQpRequestError,
  kQpAccessError,
  kCqError,
  kSrqLimitReached,
  kGidChange,  // the GID table of the port has changed; no queue is named
};

const char* NameOf(AsyncEventType type);

// One event. `cq` is set for kCqError and `srq` for kSrqLimitReached; kGidChange sets none, and all
// other types set `qp`.
struct AsyncEvent {
  AsyncEventType type = {};
  QpNumber qp = {};
  CqId cq = {};
  SrqId srq = {};

  friend bool operator==(const AsyncEvent&, const AsyncEvent&) = default;
};

}  // namespace verbena
