#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <tl/expected.hpp>

#include "verbena/error.h"
#include "verbena/qp_state.h"

namespace verbena {

// What stops a post: the queue, or an argument of the request.
enum class PostReason : uint8_t {
  kNoHandle,          // the handle is empty
  kForked,            // this process is a child of the one that opened the device
  kNoSendQueue,       // of a queue pair of type kXrcReceive
  kNoReceiveQueue,    // of one with a shared receive queue, or of the types of XRC
  kSendsNeedRts,      // PostError::state is an earlier state
  kReceivesNeedInit,  // likewise
  kQueueFull,         // limit: the capacity
  kTooManySges,       // limit: sges_max
  kInlineNotAllowed,  // the request carries no data to the peer
  kInlineTooLong,     // limit: inline_max
  kTooManyPages,      // limit: pages_max
  kInvalidateWithImmediate,
  kInvalidateInDatagram,
  kNoDestination,          // of a datagram
  kDestinationNotAllowed,  // the queue pair is connected
  kKeyOfOtherWindow,
  kNegativeDuration,
  kBadOpcode,   // a program that uses the C interface chose the number
  kBadOperand,  // not what the opcode needs
};
inline constexpr size_t kPostReasonCount = 19;

// The argument and the rule: "data: more elements than sges_max of the queue".
const char* NameOf(PostReason reason);

// Why a request was not posted. It fits into two registers, and nothing is allocated before
// ToString puts it into words.
struct PostError {
  PostReason reason = PostReason::kNoHandle;
  QpState state = QpState::kReset;
  // If the reason has a limit: what the request has of it, at most 2^32 - 1, and what it may have.
  uint32_t given = 0;
  uint32_t limit = 0;

  [[nodiscard]] static constexpr PostError Exceeds(PostReason reason, uint64_t given,
                                                   uint32_t limit) {
    constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
    return {
        .reason = reason, .given = static_cast<uint32_t>(std::min(given, kMax)), .limit = limit};
  }

  [[nodiscard]] constexpr ErrorCode code() const {
    if (reason == PostReason::kQueueFull) return ErrorCode::kLimit;
    return reason == PostReason::kForked ? ErrorCode::kForked : ErrorCode::kInvalid;
  }

  friend constexpr bool operator==(const PostError&, const PostError&) = default;
  friend constexpr bool operator==(const PostError& error, PostReason other) {
    return error.reason == other;
  }
};

// "data: more elements than sges_max of the queue (5, at most 4)"
std::string ToString(const PostError& error);

using PostResult = tl::expected<void, PostError>;

}  // namespace verbena
