#pragma once

#include "base/result.h"
#include "queue/completion_queue.h"
#include "queue/tag_matcher.h"
#include "transport/common/step.h"
#include "verbena/work_request.h"

namespace verbena::transport {

// Executes an operation on the tagged receives of a queue, and adds a completion to `cq` if it is
// signaled. Returns the handle of a receive that was added; 0 for other operations. Removing a
// receive that a message has already taken fails with a completion in any case.
[[nodiscard]] Result<TagHandle, queue::TagMatcher::AddError> Execute(const TagOperation& operation,
                                                                     queue::TagMatcher& tags,
                                                                     queue::CompletionQueue& cq,
                                                                     Step& step);

}  // namespace verbena::transport
