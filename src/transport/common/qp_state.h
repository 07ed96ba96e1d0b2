#pragma once

#include "verbena/qp_state.h"
#include "wire/roce/opcode.h"

namespace verbena::transport {

// The service that the packets of such a queue pair name.
[[nodiscard]] wire::Service ServiceOf(QpType type);

// What each state lets a queue pair do. A type that has no receive queue, or no send queue, is held
// back by that alone; the state is asked only about the queues that are there.

// Receive requests may be posted. Until kRtr they wait.
constexpr bool MayPostReceives(QpState state) { return state != QpState::kReset; }

// Requests of the peer are executed and answered, with receive requests where they need one. In the
// other states they are dropped silently.
constexpr bool TakesRequests(QpState state) {
  return state >= QpState::kRtr && state <= QpState::kSqe;
}

// Receive requests, old and new, complete with the flush status.
constexpr bool FlushesReceives(QpState state) { return state == QpState::kErr; }

// Send requests may be posted. In kSqd they wait.
constexpr bool MayPostSends(QpState state) { return state >= QpState::kRts; }

// Send requests that wait are begun.
constexpr bool StartsSends(QpState state) { return state == QpState::kRts; }

// Send requests once begun go on to their end, retries included, and the peer's responses are
// taken. A drain is the wait for this to be over.
constexpr bool FinishesSends(QpState state) {
  return state == QpState::kRts || state == QpState::kSqd;
}

// Send requests, old and new, complete with the flush status.
constexpr bool FlushesSends(QpState state) {
  return state == QpState::kSqe || state == QpState::kErr;
}

// Its machine is that of the reliable connection.
constexpr bool IsReliable(QpType type) { return type != QpType::kUc && type != QpType::kUd; }

// Where a send request that fails leaves the queue pair: only an unreliable one can lose its send
// queue and go on receiving.
constexpr QpState StateAfterSendError(QpType type) {
  return IsReliable(type) ? QpState::kErr : QpState::kSqe;
}

}  // namespace verbena::transport
