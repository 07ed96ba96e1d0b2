#include "transport/common/receive_slot.h"

#include <algorithm>
#include <variant>

#include "transport/common/complete.h"
#include "transport/common/rendezvous.h"
#include "wire/roce/ieth.h"
#include "wire/roce/immdt.h"

namespace verbena::transport {

namespace {

using Kind = TaggedMessage::Kind;

// More bytes than a message can have.
constexpr uint64_t kAllOfIt = uint64_t{1} << 32;

// Sets what a completion of a tag matching queue has in addition.
void SetTagFields(const TaggedMessage& message, Completion& completion) {
  completion.opcode = message.kind == Kind::kUntagged ? CompletionOpcode::kNoTagReceive
                                                      : CompletionOpcode::kTagReceive;
  if (!message.has_tag()) return;
  completion.tag_matched = true;
  completion.tag_data_valid = message.kind == Kind::kEager;
  completion.tag = message.header.tag;
  completion.tag_context = message.header.context;
}

}  // namespace

bool ReceiveSlot::TakeNext(Step& step) {
  const auto element = source_.Take();
  if (!element) return false;
  if (element->limit_reached) {
    step.outbox.Raise(
        {.type = AsyncEventType::kSrqLimitReached, .qp = qp_, .srq = source_.shared()});
  }
  receive_ = Receive{.element = *element, .cursor = queue::SgeCursor(element->sges)};
  return true;
}

bool ReceiveSlot::TakeTagged(const TaggedMessage& message, Step& step) {
  if (message.has_tag()) {
    if (const auto element = source_.TakeTagged(message.header.tag)) {
      receive_ = Receive{
          .element = *element, .cursor = queue::SgeCursor(element->sges), .message = message};
      if (message.kind == Kind::kEager) {
        receive_->left_out = wire::TagHeader::kSize;
      } else if (message.data.length <= element->length) {
        receive_->left_out = kAllOfIt;
      } else {
        receive_->element.length = 0;  // so that the message fails as too long
      }
      return true;
    }
  }
  if (!TakeNext(step)) return false;
  receive_->message.kind = message.has_tag() ? Kind::kUnexpected : Kind::kUntagged;
  if (message.has_tag()) source_.tags()->CountUnexpected();
  return true;
}

Placement ReceiveSlot::AppendRest(std::span<const std::byte> bytes, uint64_t ahead,
                                  const memory::Accessor& who, memory::MemoryCore& memory) {
  const size_t dropped = std::min<uint64_t>(receive_->left_out, bytes.size());
  const std::span<const std::byte> rest = bytes.subspan(dropped);
  Placement placed = Placed{};
  if (!rest.empty()) {
    placed = ScatterSend(receive_->cursor, rest, ahead - dropped, source_.AccessorFor(who), memory);
  }
  // A packet that is not placed is retransmitted as a whole.
  if (std::holds_alternative<Placed>(placed)) receive_->left_out -= dropped;
  return placed;
}

void ReceiveSlot::GiveBack(const Receive& ended, bool succeeded, Step& step) {
  if (ended.message.kind == Kind::kRendezvous && succeeded) {
    const auto index = std::get<queue::TagMatcher::Index>(ended.element.place);
    return rendezvous_->Begin(index, ended.message.header, ended.message.data, step);
  }
  if (ended.message.kind == Kind::kUnexpected && !succeeded) source_.tags()->DiscountUnexpected();
  source_.Finish(ended.element);
}

bool ReceiveSlot::Finish(Completion completion, bool solicited, Step& step) {
  completion.id = receive_->element.id;
  completion.qp = qp_;
  if (receive_->message.kind == Kind::kPlain) [[likely]] {
    source_.Finish(receive_->element);
  } else {
    SetTagFields(receive_->message, completion);
    GiveBack(*receive_, completion.status == CompletionStatus::kSuccess, step);
  }
  receive_.reset();
  return Complete(completion, solicited, *cq_, step);
}

bool ReceiveSlot::Finish(CompletionStatus status, Step& step, VendorError vendor_error) {
  Completion completion;
  completion.status = status;
  completion.opcode = CompletionOpcode::kReceive;
  completion.vendor_error = vendor_error;
  return Finish(completion, false, step);  // an error counts as solicited in any case
}

void ReceiveSlot::Forget(const queue::SharedReceiveQueue& queue) {
  if (!source_.Is(queue)) return;
  if (receive_) source_.Finish(receive_->element);
  receive_.reset();
  source_ = {};
}

void ReceiveSlot::Flush(Step& step) {
  if (receive_) Finish(CompletionStatus::kFlushed, step);
  if (source_.is_shared()) {
    // IBA 11.6.3.2: other queue pairs still use the shared queue. The event says that this one has
    // taken its last request.
    if (!last_wqe_was_raised_) step.outbox.Raise({AsyncEventType::kLastWqeReached, qp_});
    last_wqe_was_raised_ = true;
    return;
  }
  while (Take(step)) Finish(CompletionStatus::kFlushed, step);
}

Completion ReceiveCompletionOf(const wire::Packet& packet, uint32_t byte_count) {
  Completion completion;
  completion.byte_count = byte_count;
  completion.opcode = packet.info().operation == wire::Operation::kWrite
                          ? CompletionOpcode::kReceiveWithImmediate
                          : CompletionOpcode::kReceive;
  if (const auto immediate = packet.Get<wire::ImmDt>()) {
    completion.with_immediate = true;
    completion.immediate = Immediate(immediate->data);
  }
  if (const auto ieth = packet.Get<wire::Ieth>()) {
    completion.with_invalidate = true;
    completion.invalidated = ieth->r_key;
  }
  return completion;
}

}  // namespace verbena::transport
