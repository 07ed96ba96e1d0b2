#pragma once

#include <cstddef>
#include <cstdint>

namespace verbena {

// The states of a queue pair, in the order and with the values of the verbs. (IBA 10.3.1)
enum class QpState : uint8_t {
  kReset,
  kInit,
  kRtr,  // ready to receive
  kRts,  // ready to send
  kSqd,  // send queue drain
  kSqe,  // send queue error
  kErr,
};
inline constexpr size_t kQpStateCount = 7;

const char* NameOf(QpState state);  // "RTR"

// Reliable connection, unreliable connection, unreliable datagram; extended reliable connections.
// The two sides of these are of different types, because each has only one half of a queue pair.
enum class QpType : uint8_t { kRc, kUc, kUd, kXrcSend, kXrcReceive };
inline constexpr size_t kQpTypeCount = 5;

const char* NameOf(QpType type);  // "RC"

// What becomes of a queue pair when a registration by work request fails.
enum class RegistrationMode : uint8_t {
  kDisabled,      // there are none: they are refused
  kAnticipatory,  // it is in error
  kReactive,  // its send queue is drained (SQD): sends are flushed until it goes back to RTS, the
              // receive side goes on
};

}  // namespace verbena
