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

// Reliable connection, unreliable connection, unreliable datagram; extended reliable connections,
// whose two sides are of different types, because each has only one half of a queue pair; the plain
// bytes of a TCP connection, on an iWARP device (docs/iwarp.md, "Plain streams").
enum class QpType : uint8_t { kRc, kUc, kUd, kXrcSend, kXrcReceive, kStream };
inline constexpr size_t kQpTypeCount = 6;

const char* NameOf(QpType type);  // "RC"

// What becomes of a queue pair when a registration by work request fails.
enum class RegistrationMode : uint8_t {
  kDisabled,      // there are none: they are refused
  kAnticipatory,  // it is in error
  kReactive,  // its send queue is drained (SQD): sends are flushed until it goes back to RTS, the
              // receive side goes on
};

}  // namespace verbena
