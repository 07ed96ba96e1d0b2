#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "queue/wqe.h"
#include "verbena/post_error.h"

namespace verbena::queue {

// What a program posts: an element and its lists. The lists are read while it is being posted, and
// not after.
template <class Wqe>
struct WorkRequest {
  Wqe wqe{};
  std::span<const Sge> sges = {};
  std::span<const uint64_t> pages = {};  // of a registration
};

using SendWorkRequest = WorkRequest<SendWqe>;
using ReceiveWorkRequest = WorkRequest<ReceiveWqe>;

// How large a work queue is, and each element of it.
struct WorkQueueLimits {
  uint32_t capacity = 0;  // elements; 0 for a queue that is never posted to
  uint32_t sges_max = 0;
  uint32_t inline_max = 0;  // bytes
  uint32_t pages_max = 0;
};

// The checks of one request by itself, in which the queue's state plays no part.
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
  // The C interface hands on whatever number the program wrote.
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
