#pragma once

#include "verbena/qp_state.h"
#include "wire/roce/opcode.h"

namespace verbena::transport {

// The service of the packets of such a queue pair. REQUIRES: not kStream.
[[nodiscard]] wire::Service ServiceOf(QpType type);

// What a queue pair may do in each state. These functions concern queues that exist: a type without
// a receive queue or send queue is checked elsewhere.

// Receive requests may be posted. They wait until kRtr.
constexpr bool MayPostReceives(QpState state) { return state != QpState::kReset; }

// Requests of the peer are executed and answered, with a receive request if they need one. In the
// other states they are dropped silently.
constexpr bool TakesRequests(QpState state) {
  return state >= QpState::kRtr && state <= QpState::kSqe;
}

// Receive requests, old and new, complete with the flush status.
constexpr bool FlushesReceives(QpState state) { return state == QpState::kErr; }

// Send requests may be posted. In kSqd they wait.
constexpr bool MayPostSends(QpState state) { return state >= QpState::kRts; }

// Posted send requests are started.
constexpr bool StartsSends(QpState state) { return state == QpState::kRts; }

// Send requests that were started are finished, with retries, and the peer's responses are
// accepted. A drain is the wait for their end.
constexpr bool FinishesSends(QpState state) {
  return state == QpState::kRts || state == QpState::kSqd;
}

// Send requests, old and new, complete with the flush status.
constexpr bool FlushesSends(QpState state) {
  return state == QpState::kSqe || state == QpState::kErr;
}

// Uses the state machine of the reliable connection.
constexpr bool IsReliable(QpType type) { return type != QpType::kUc && type != QpType::kUd; }

// The state of a queue pair after a failed send request. Only an unreliable queue pair can have a
// send queue in error and still receive.
constexpr QpState StateAfterSendError(QpType type) {
  return IsReliable(type) ? QpState::kErr : QpState::kSqe;
}

}  // namespace verbena::transport
