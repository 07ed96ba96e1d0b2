#pragma once

#include <cstdint>

namespace verbena::transport {

// Where a connection stands (IBA 12.9.5, 12.9.6). Before a REQ was sent or received there is no
// connection: the states IDLE and LISTEN of the specification are not among these.
enum class CmState : uint8_t {
  // Of the active side, which sent the REQ.
  kReqSent,
  kMraReqReceived,  // REP wait: the peer needs longer
  kRepReceived,
  kMraRepSent,
  // Of the passive side.
  kReqReceived,
  kMraReqSent,
  kRepSent,
  kMraRepReceived,
  // Of both.
  kEstablished,
  kDreqSent,
  kDreqReceived,
  kTimeWait,  // over: what is still under way is recognised, and the QP number is not used again
  kClosed,    // to be removed
};

[[nodiscard]] const char* NameOf(CmState state);

// Waits for the consumer of the passive side.
[[nodiscard]] constexpr bool IsPending(CmState state) {
  return state == CmState::kReqReceived || state == CmState::kMraReqSent;
}

// A peer asked for it, and has not said that it is ready.
[[nodiscard]] constexpr bool IsHalfOpen(CmState state) {
  return state >= CmState::kReqReceived && state <= CmState::kMraRepReceived;
}

}  // namespace verbena::transport
