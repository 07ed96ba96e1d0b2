#pragma once

#include "queue/completion_queue.h"
#include "transport/common/step.h"

namespace verbena::transport {

// Adds a completion to its queue, and raises the events that follow. False if the completion is
// lost.
inline bool Complete(const Completion& completion, bool solicited, queue::CompletionQueue& cq,
                     Step& step) {
  using PushStatus = queue::CompletionQueue::PushStatus;
  const auto pushed = cq.Push(completion, solicited, step.now);
  if (pushed.event_now) step.outbox.RaiseCompletionEvent(cq);
  if (pushed.status == PushStatus::kOverflowed) {
    step.outbox.Raise({.type = AsyncEventType::kCqError, .qp = completion.qp, .cq = &cq});
  }
  return pushed.status == PushStatus::kStored;
}

}  // namespace verbena::transport
