#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "queue/wqe.h"
#include "verbena/post_error.h"

namespace verbena::queue {

// What a program posts: an element and its lists. The lists are read only during the post.
template <class Wqe>
struct WorkRequest {
  Wqe wqe{};
  std::span<const Sge> sges = {};
  std::span<const uint64_t> pages = {};  // of a registration
};

using SendWorkRequest = WorkRequest<SendWqe>;
using ReceiveWorkRequest = WorkRequest<ReceiveWqe>;

// The size of a work queue and of its elements.
struct WorkQueueLimits {
  uint32_t capacity = 0;  // elements; 0 for a queue that is never posted to
  uint32_t sges_max = 0;
  uint32_t inline_max = 0;  // bytes
  uint32_t pages_max = 0;
};

// Checks a request independently of the state of the queue.
inline std::optional<PostError> Validate(const ReceiveWorkRequest& request,
                                         const WorkQueueLimits& limits) {
  if (request.sges.size() > limits.sges_max) {
    return PostError::Exceeds(PostReason::kTooManySges, request.sges.size(), limits.sges_max);
  }
  return std::nullopt;
}

inline std::optional<PostError> Validate(const SendWorkRequest& request,
                                         const WorkQueueLimits& limits) {
  const SendWqe& wqe = request.wqe;
  // The C interface passes any number that the program wrote.
  if (static_cast<size_t>(wqe.opcode) >= kSendOpcodeCount) return PostError{PostReason::kBadOpcode};
  const SendProperties& properties = PropertiesOf(wqe.opcode);
  if ((properties.operands >> wqe.operand.index() & 1) == 0) {
    return PostError{PostReason::kBadOperand};
  }
  if (request.sges.size() > limits.sges_max) {
    return PostError::Exceeds(PostReason::kTooManySges, request.sges.size(), limits.sges_max);
  }
  if (wqe.flags.inlined && !properties.carries_payload) {
    return PostError{PostReason::kInlineNotAllowed};
  }
  const uint32_t pages_max = properties.registers ? limits.pages_max : 0;
  if (request.pages.size() > pages_max) {
    return PostError::Exceeds(PostReason::kTooManyPages, request.pages.size(), pages_max);
  }
  return std::nullopt;
}

inline bool IsInlined(const SendWqe& wqe) { return wqe.flags.inlined; }
constexpr bool IsInlined(const ReceiveWqe& /*wqe*/) { return false; }

}  // namespace verbena::queue
