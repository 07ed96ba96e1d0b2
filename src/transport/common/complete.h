#pragma once

#include "queue/completion_queue.h"
#include "queue/work_queue.h"
#include "transport/common/local_work.h"
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

// Completes the oldest element of a send queue, if it has a completion. False if that is lost. The
// element is retired before its completion is visible, because a program that polls the completion
// may post again at once, on another thread.
inline bool CompleteOldest(queue::SendQueue& queue, const LocalOutcome& outcome,
                           uint32_t byte_count, QpNumber qp, queue::CompletionQueue& cq,
                           Step& step) {
  const queue::WqeNumber n = queue.begin();
  const queue::SendWqe& wqe = queue.At(n);
  const bool solicited = wqe.flags.solicited;
  const bool has_completion = outcome.status != CompletionStatus::kSuccess || wqe.flags.signaled;
  Completion completion;
  completion.id = wqe.id;
  completion.qp = qp;
  completion.status = outcome.status;
  completion.opcode = queue::CompletionOpcodeOf(wqe.opcode);
  completion.byte_count = byte_count;
  completion.vendor_error = outcome.vendor_error;
  queue.Retire(n);
  return !has_completion || Complete(completion, solicited, cq, step);
}

}  // namespace verbena::transport
