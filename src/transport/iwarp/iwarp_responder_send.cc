// The sending part of iwarp_responder.h: responses to reads and atomics of the peer.

#include <algorithm>

#include "base/check.h"
#include "transport/common/refusal_counters.h"
#include "transport/iwarp/iwarp_responder.h"

namespace verbena::transport {

using wire::DdpTagged;
using wire::DdpUntagged;
using wire::RdmapOpcode;

bool IwarpResponder::is_mid_message() const {
  const InboundRead* const read = reads_.front();
  return read != nullptr && read->kind == InboundRead::Kind::kRead && read->sent > 0;
}

FrameSent IwarpResponder::SendFrame(MpaSender& out, Step& step) {
  if (failure_ || !has_responses_due()) return FrameSent::kNothing;
  InboundRead& read = *reads_.front();
  return read.kind == InboundRead::Kind::kRead ? SendRead(read, out, step) : SendAtomic(read, out);
}

FrameSent IwarpResponder::SendRead(InboundRead& read, MpaSender& out, Step& step) {
  const uint32_t left = read.read.size - read.sent;
  const size_t size = std::min<size_t>(left, out.ulpdu_max() - DdpTagged::kSize);
  if (!out.Begin(DdpTagged::kSize + size)) return FrameSent::kNoRoom;
  const RemoteRange rest{.key = read.read.source_stag,
                         .start = KeyAddress(read.read.source_offset.value() + read.sent),
                         .length = left};
  const Placement found =
      ReadInto(rest, out.ulpdu().subspan(DdpTagged::kSize), config_.who, step.memory,
               read.holds_key ? SpentKey::kAllowed : SpentKey::kRefused);
  if (const NakReason* const reason = std::get_if<NakReason>(&found)) {
    failure_ = Failure{.reason = *reason, .read = read};
    return FrameSent::kNothing;
  }
  if (const auto* const fault = std::get_if<memory::Fault>(&found)) {
    if (fault->is_loss && losses_++ == kLossesMax) {
      failure_ = Failure{.reason = NakReason(ResponderError::kPagesUnavailable), .read = read};
    } else {
      reply_wait_ = RequestPages(*fault, step);
    }
    return FrameSent::kNothing;
  }
  losses_ = 0;
  DdpTagged{.control = {.tagged = true, .last = size == left, .opcode = RdmapOpcode::kReadResponse},
            .stag = read.read.sink_stag,
            .offset = KeyAddress(read.read.sink_offset.value() + read.sent)}
      .Serialize(out.ulpdu());
  out.End();
  read.sent += static_cast<uint32_t>(size);
  if (read.sent == read.read.size) {
    EndRead(read, step);
    reads_.Pop();
  }
  return FrameSent::kSent;
}

FrameSent IwarpResponder::SendAtomic(const InboundRead& read, MpaSender& out) {
  if (!out.Begin(DdpUntagged::kSize + wire::RdmapAtomicResponse::kSize)) return FrameSent::kNoRoom;
  DdpUntagged{.control = {.last = true, .opcode = RdmapOpcode::kAtomicResponse},
              .queue = wire::DdpQueue::kAtomicResponse,
              .msn = next_atomic_response_}
      .Serialize(out.ulpdu());
  read.atomic.Serialize(out.ulpdu().subspan(DdpUntagged::kSize));
  out.End();
  ++next_atomic_response_;
  reads_.Pop();
  return FrameSent::kSent;
}

// Row A5: a one-touch key ends with the read that used it.
void IwarpResponder::EndRead(const InboundRead& read, Step& step) {
  if (read.holds_key) step.memory.one_touch.Release(read.read.source_stag);
}

void IwarpResponder::Fail(const Termination& termination, const TerminateReason& reason,
                          Step& step) {
  wait_.reset();
  reply_wait_.reset();
  send_ = {};
  const NakReason* const refusal = std::get_if<NakReason>(&reason);
  const VendorError check = refusal != nullptr ? CountRefusal(*refusal, step.refusals) : 0;
  if (receive_.is_taken() && termination.receive_status != CompletionStatus::kSuccess) {
    receive_.Finish(termination.receive_status, step, check);
  } else if (termination.event) {
    step.outbox.Raise({.type = *termination.event, .qp = config_.local_qp});
  }
}

void IwarpResponder::Flush(Step& step) {
  wait_.reset();
  reply_wait_.reset();
  send_ = {};
  for (; !reads_.empty(); reads_.Pop()) {
    if (reads_.front()->kind == InboundRead::Kind::kRead) EndRead(*reads_.front(), step);
  }
  if (has_early_touch_) step.memory.one_touch.StreamEnded(config_.local_qp);
  has_early_touch_ = false;
  receive_.Flush(step);
}

bool IwarpResponder::IsConsistent() const {
  if (!reads_.IsConsistent() || !receive_.IsConsistent()) return false;
  if (reply_wait_ && reads_.empty()) return false;
  return !send_.is_open || receive_.is_taken();
}

}  // namespace verbena::transport
