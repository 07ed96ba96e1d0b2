#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "queue/completion_queue.h"
#include "queue/tag_matcher.h"
#include "transport/common/step.h"

namespace verbena::transport {

// What a program does to the tagged receives of a queue.
struct TagOperation {
  enum class Kind : uint8_t { kAdd, kRemove, kSynchronize };

  Kind kind = Kind::kAdd;
  WrId id{};
  bool signaled = false;
  std::optional<uint32_t> seen = {};  // unexpected messages that the program has looked at
  TagHandle handle{};                 // kRemove
  queue::TaggedReceive receive = {};  // kAdd
};

// Does it, and tells so in `cq` if that is asked for. The handle of what was added; 0 otherwise. To
// remove what a message has taken fails there, asked for or not.
[[nodiscard]] Result<TagHandle, queue::TagMatcher::AddError> Execute(const TagOperation& operation,
                                                                     queue::TagMatcher& tags,
                                                                     queue::CompletionQueue& cq,
                                                                     Step& step);

}  // namespace verbena::transport
