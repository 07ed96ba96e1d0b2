#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "queue/wqe.h"

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

// Why a request was not taken. The program hears it from the call; there is no completion.
enum class PostError : uint8_t {
  kFull,
  kTooManySges,
  kInlineNotAllowed,
  kInlineTooLong,
  kBadOpcode,
  kBadOperand,  // not what the opcode needs
  kTooManyPages,
};

const char* NameOf(PostError error);

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
  if (request.sges.size() > limits.sges_max) return PostError::kTooManySges;
  return std::nullopt;
}

inline std::optional<PostError> Validate(const SendWorkRequest& request,
                                         const WorkQueueLimits& limits) {
  const SendWqe& wqe = request.wqe;
  // The C interface hands on whatever number the program wrote.
  if (static_cast<size_t>(wqe.opcode) >= kSendOpcodeCount) return PostError::kBadOpcode;
  const SendProperties& properties = PropertiesOf(wqe.opcode);
  if ((properties.operands >> wqe.operand.index() & 1) == 0) return PostError::kBadOperand;
  if (request.sges.size() > limits.sges_max) return PostError::kTooManySges;
  if (wqe.flags.inlined && !properties.carries_payload) return PostError::kInlineNotAllowed;
  if (request.pages.size() > (properties.registers ? limits.pages_max : 0)) {
    return PostError::kTooManyPages;
  }
  return std::nullopt;
}

inline bool IsInlined(const SendWqe& wqe) { return wqe.flags.inlined; }
constexpr bool IsInlined(const ReceiveWqe& /*wqe*/) { return false; }

}  // namespace verbena::queue
