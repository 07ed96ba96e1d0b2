#pragma once

#include "base/result.h"
#include "queue/completion_queue.h"
#include "queue/tag_matcher.h"
#include "transport/common/step.h"
#include "verbena/work_request.h"

namespace verbena::transport {

// Does what a program asks to the tagged receives of a queue, and tells so in `cq` if that is asked
// for. The handle of what was added; 0 otherwise. To remove what a message has taken fails there,
// asked for or not.
[[nodiscard]] Result<TagHandle, queue::TagMatcher::AddError> Execute(const TagOperation& operation,
                                                                     queue::TagMatcher& tags,
                                                                     queue::CompletionQueue& cq,
                                                                     Step& step);

}  // namespace verbena::transport
