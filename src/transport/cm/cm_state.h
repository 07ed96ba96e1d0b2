#pragma once

#include <cstdint>

namespace verbena::transport {

// The state of a connection (IBA 12.9.5, 12.9.6). Without a REQ there is no connection, so the
// states IDLE and LISTEN of the specification are not here.
enum class CmState : uint8_t {
  // On the active side, which sent the REQ.
  kReqSent,
  kMraReqReceived,  // REP wait: the peer needs longer
  kRepReceived,
  kMraRepSent,
  // On the passive side.
  kReqReceived,
  kMraReqSent,
  kRepSent,
  kMraRepReceived,
  // On both sides.
  kEstablished,
  kDreqSent,
  kDreqReceived,
  kTimeWait,  // over: late messages are recognized, and the QP number is not reused
  kClosed,    // to be removed
};

[[nodiscard]] const char* NameOf(CmState state);

// The consumer of the passive side has not responded.
[[nodiscard]] constexpr bool IsPending(CmState state) {
  return state == CmState::kReqReceived || state == CmState::kMraReqSent;
}

// Requested by a peer that has not sent an RTU.
[[nodiscard]] constexpr bool IsHalfOpen(CmState state) {
  return state >= CmState::kReqReceived && state <= CmState::kMraRepReceived;
}

}  // namespace verbena::transport
