#include "transport/receive_slot.h"

#include "transport/complete.h"
#include "wire/roce/ieth.h"
#include "wire/roce/immdt.h"

namespace verbena::transport {

using queue::Completion;
using queue::CompletionOpcode;
using queue::CompletionStatus;

bool ReceiveSlot::Take(Turn& turn) {
  if (receive_) return true;
  const auto element = source_.Take();
  if (!element) return false;
  if (element->limit_reached) {
    turn.outbox.Raise(
        {.type = AsyncEventType::kSrqLimitReached, .qp = qp_, .srq = source_.shared()});
  }
  receive_ = Receive{.element = *element, .cursor = queue::SgeCursor(element->sges)};
  return true;
}

bool ReceiveSlot::Finish(Completion completion, bool solicited, Turn& turn) {
  completion.id = receive_->element.id;
  completion.qp = queue::QpNumber(qp_.value());
  source_.Finish(receive_->element);
  receive_.reset();
  return Complete(completion, solicited, *cq_, turn);
}

bool ReceiveSlot::Finish(CompletionStatus status, Turn& turn) {
  Completion completion;
  completion.status = status;
  completion.opcode = CompletionOpcode::kReceive;
  return Finish(completion, false, turn);  // an error counts as solicited
}

void ReceiveSlot::Forget(const queue::SharedReceiveQueue& queue) {
  if (!source_.Is(queue)) return;
  if (receive_) source_.Finish(receive_->element);
  receive_.reset();
  source_ = {};
}

void ReceiveSlot::Flush(Turn& turn) {
  if (receive_) Finish(CompletionStatus::kFlushed, turn);
  if (source_.is_shared()) {
    // IBA 11.6.3.2: the others go on with the queue; the program hears when we are done with it.
    if (!last_wqe_was_told_) turn.outbox.Raise({AsyncEventType::kLastWqeReached, qp_});
    last_wqe_was_told_ = true;
    return;
  }
  while (Take(turn)) Finish(CompletionStatus::kFlushed, turn);
}

Completion ReceiveCompletionOf(const wire::Packet& packet, uint32_t byte_count) {
  Completion completion;
  completion.byte_count = byte_count;
  completion.opcode = packet.info().operation == wire::Operation::kWrite
                          ? CompletionOpcode::kReceiveWithImmediate
                          : CompletionOpcode::kReceive;
  if (const auto immediate = packet.Get<wire::ImmDt>()) {
    completion.flags.with_immediate = true;
    completion.immediate = queue::Immediate(immediate->data);
  }
  if (const auto ieth = packet.Get<wire::Ieth>()) {
    completion.flags.with_invalidate = true;
    completion.invalidated = queue::KeyValue(ieth->r_key.value());
  }
  return completion;
}

}  // namespace verbena::transport
