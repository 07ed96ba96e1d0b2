#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "transport/rc/responder.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/feth.h"
#include "wire/roce/ieth.h"
#include "wire/roce/xrceth.h"

namespace verbena::transport {
namespace {

using memory::AccessKind;
using wire::Operation;

// Whether the request needs an entry in the replay cache.
bool NeedsReply(const wire::OpcodeInfo& info) {
  return info.operation != Operation::kSend && info.operation != Operation::kWrite;
}

// A send needs a receive request from its first packet on, a write with immediate at its last
// packet.
bool NeedsReceive(const wire::OpcodeInfo& info) {
  return info.operation == Operation::kSend || info.has_immediate();
}

}  // namespace

Responder::Outcome Responder::CheckResources(const wire::Packet& packet, Step& step) {
  const wire::OpcodeInfo& info = packet.info();
  if (xrc_receivers_ != nullptr && info.starts_message()) {
    if (const auto no = SelectReceiver(packet)) return no;
  }
  if (NeedsReply(info) && !replies_.HasRoom()) return ResponderError::kTooManyOutstanding;
  if (NeedsReceive(info) && !TakeReceive(packet, step)) return ResponderError::kReceiverNotReady;
  return std::nullopt;
}

// Not inlined, so that requests that need no receive request pay nothing for it.
[[gnu::noinline]] bool Responder::TakeReceive(const wire::Packet& packet, Step& step) {
  if (packet.info().operation == Operation::kSend) return receive_.TakeFor(packet.payload(), step);
  return receive_.Take(step);
}

// IBA A14: a message names its receive queue, and so the protection domain.
Responder::Outcome Responder::SelectReceiver(const wire::Packet& packet) {
  const XrcReceivers::Receiver* const receiver =
      xrc_receivers_->Find(packet.Get<wire::Xrceth>()->srq);
  if (receiver == nullptr) return ResponderError::kNoSuchReceiver;
  who_.pd = receiver->pd;
  if (receive_.source().Is(*receiver->queue)) return std::nullopt;
  // A request taken for a message that was refused temporarily is not used for another message.
  if (receive_.is_taken()) return ResponderError::kNoSuchReceiver;
  receive_.Serve(ReceiveSource(*receiver->queue, receiver->pd), *receiver->cq);
  return std::nullopt;
}

Responder::Outcome Responder::Execute(const wire::Packet& packet, Step& step) {
  switch (packet.info().operation) {
    case Operation::kSend:
      return ExecuteSend(packet, step);
    case Operation::kWrite:
      return ExecuteWrite(packet, step);
    case Operation::kReadRequest:
      return ExecuteRead(packet, step);
    case Operation::kCompareSwap:
    case Operation::kFetchAdd:
      return ExecuteAtomicOperation(packet, step);
    case Operation::kAtomicWrite:
      return ExecuteAtomicStore(packet, step);
    case Operation::kFlush:
      return ExecuteFlush(packet, step);
    case Operation::kReadResponse:
    case Operation::kAcknowledge:
    case Operation::kAtomicAcknowledge:
    case Operation::kResync:
    case Operation::kCongestionNotification:
      break;  // not a request of a reliable connection
  }
  UNREACHABLE();
}

Responder::Outcome Responder::ExecuteSend(const wire::Packet& packet, Step& step) {
  const wire::OpcodeInfo& info = packet.info();
  const std::span<const std::byte> payload = packet.payload();
  // IBA 9.7.4.1: a message that is longer than the receive request is an invalid request.
  const uint64_t longer = receive_.filled() + payload.size();
  if (payload.size() > receive_.room() || longer > kMessageMax)
    return ResponderError::kMessageTooLong;

  const uint64_t ahead = info.ends_message() ? payload.size() : kSendAheadMax;
  const Placement placed = receive_.Append(payload, ahead, who_, step.memory);
  if (const auto no = OutcomeOf(placed, ResponderError::kReceiveBufferRefused, step)) return no;
  if (info.ends_message()) {
    if (const auto ieth = packet.Get<wire::Ieth>()) {
      const auto invalidated = step.memory.Invalidate(ieth->r_key, memory::Origin::kRemote, who_);
      if (!invalidated) return NakReason(invalidated.error(), RefusedKey::kInvalidated);
    }
    const auto byte_count = static_cast<uint32_t>(receive_.filled());
    if (const auto no = CompleteReceive(packet, byte_count, step)) return no;
    EndMessage();
  }
  message_.is_open = !info.ends_message();
  message_.operation = Operation::kSend;
  ++expected_;
  ack_is_due_ = true;
  return std::nullopt;
}

Responder::Outcome Responder::ExecuteWrite(const wire::Packet& packet, Step& step) {
  const wire::OpcodeInfo& info = packet.info();
  RemoteRange rest{message_.key, message_.next, message_.remaining};
  if (info.starts_message()) {
    rest = RangeOf(*packet.Get<wire::Reth>());
    const bool is_whole = info.ends_message();  // then the translation makes the same check
    if (!is_whole) {
      if (const auto no = CheckKey(rest, AccessKind::kRemoteWrite, who_, step.memory)) return no;
    }
  }
  const std::span<const std::byte> payload = packet.payload();
  const Placement placed = PlaceWrite(rest, payload, who_, step.memory);
  if (const auto no = OutcomeOf(placed, ResponderError::kPagesUnavailable, step)) return no;
  const auto size = static_cast<uint32_t>(payload.size());
  const uint32_t received = (info.starts_message() ? 0 : message_.received) + size;
  if (info.ends_message()) {
    EndUse(rest.key, std::get<Placed>(placed).use, packet.bth().psn, who_, step.memory);
    if (info.has_immediate()) {
      if (const auto no = CompleteReceive(packet, received, step)) return no;
    }
    EndMessage();
    message_.is_open = false;
  } else {
    message_ = {.is_open = true,
                .operation = Operation::kWrite,
                .key = rest.key,
                .next = KeyAddress(rest.start.value() + size),
                .remaining = rest.length - size,
                .received = received};
  }
  ++expected_;
  ack_is_due_ = true;
  return std::nullopt;
}

// Reads nothing yet: the replies read the bytes when they are sent.
Responder::Outcome Responder::ExecuteRead(const wire::Packet& packet, Step& step) {
  const RemoteRange range = RangeOf(*packet.Get<wire::Reth>());
  if (const auto no = CheckKey(range, AccessKind::kRemoteRead, who_, step.memory)) return no;
  Reply reply{.kind = Reply::Kind::kRead,
              .packet_count = PsnCountOf(range.length, config_.path_mtu)};
  reply.holds_key = replies_.TakeOverKey(range.key, range.start);
  AddDueResponse(reply, range, step);
  return std::nullopt;
}

Responder::Outcome Responder::ExecuteAtomicOperation(const wire::Packet& packet, Step& step) {
  const wire::AtomicEth eth = *packet.Get<wire::AtomicEth>();
  const RemoteRange word = RangeOf(eth);
  const AtomicResult result =
      ExecuteAtomic(word,
                    {.is_compare_swap = packet.info().operation == Operation::kCompareSwap,
                     .compare = eth.compare,
                     .swap_or_add = eth.swap_or_add},
                    who_, step.memory);
  if (const NakReason* const reason = std::get_if<NakReason>(&result)) return *reason;
  if (const auto* const fault = std::get_if<memory::Fault>(&result)) {
    return WaitForPages(*fault, ResponderError::kPagesUnavailable, step);
  }
  const AtomicDone& done = std::get<AtomicDone>(result);
  EndUse(word.key, done.use, packet.bth().psn, who_, step.memory);
  AddDueResponse({.kind = Reply::Kind::kAtomic, .original = done.original}, word, step);
  return std::nullopt;
}

Responder::Outcome Responder::ExecuteAtomicStore(const wire::Packet& packet, Step& step) {
  const RemoteRange word = RangeOf(*packet.Get<wire::Reth>());
  const Placement placement = PlaceAtomicWrite(word, packet.payload(), who_, step.memory);
  if (const auto no = OutcomeOf(placement, ResponderError::kPagesUnavailable, step)) return no;
  EndUse(word.key, std::get<Placed>(placement).use, packet.bth().psn, who_, step.memory);
  AddDueResponse({.kind = Reply::Kind::kPlaced}, word, step);
  return std::nullopt;
}

Responder::Outcome Responder::ExecuteFlush(const wire::Packet& packet, Step& step) {
  const RemoteRange range = RangeOf(*packet.Get<wire::Reth>());
  if (const auto no = CheckFlush(*packet.Get<wire::Feth>(), range, who_, step.memory)) {
    return no;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  AddDueResponse({.kind = Reply::Kind::kPlaced}, range, step);
  return std::nullopt;
}

Responder::Outcome Responder::OutcomeOf(const Placement& placement, ResponderError otherwise,
                                        Step& step) {
  if (const NakReason* const reason = std::get_if<NakReason>(&placement)) return *reason;
  if (const auto* const fault = std::get_if<memory::Fault>(&placement)) {
    return WaitForPages(*fault, otherwise, step);
  }
  return std::nullopt;
}

// A packet that arrives again before its pages are present is refused again, without a new page
// request.
Responder::Outcome Responder::WaitForPages(const memory::Fault& fault, ResponderError otherwise,
                                           Step& step) {
  if (fault.is_loss && losses_++ == kLossesMax) return otherwise;
  if (otherwise == ResponderError::kReceiveBufferRefused) had_receive_fault_ = true;
  switch (wait_.state()) {
    case InboundWait::State::kNone:
      wait_.Begin(RequestPages(fault, step), otherwise, step.now);
      break;
    case InboundWait::State::kRequested:
      wait_.Repeat();
      break;
    case InboundWait::State::kResumed:
      wait_.RequestAgain(RequestPages(fault, step));
      break;
  }
  return ResponderError::kPagesAbsent;
}

void Responder::EndMessage() {
  ++msn_;
  losses_ = 0;
}

// Derives from a new read or atomic which earlier responses have arrived. A response that was
// repeated has arrived, unless it is still to be sent. Of the others, only the one whose entry the
// new request replaces is known to have arrived.
void Responder::NoteProgress(Step& step) {
  if (probe_.is_single()) {
    if (!replies_.has_pending()) probe_.OnAcknowledged(expected_, config_.path, step);
  } else if (const Reply* const leaving = replies_.Leaving()) {
    probe_.OnAcknowledged(leaving->first + leaving->packet_count, config_.path, step);
  }
}

void Responder::AddDueResponse(Reply reply, const RemoteRange& range, Step& step) {
  if (!probe_.is_idle()) NoteProgress(step);
  if (const Reply* const leaving = replies_.Leaving(); leaving != nullptr && leaving->holds_key) {
    step.memory.one_touch.Release(leaving->key);
  }
  reply.pd = who_.pd;
  reply.first = expected_;
  EndMessage();
  reply.msn = msn_;
  reply.key = range.key;
  reply.address = range.start;
  reply.length = range.length;
  replies_.Add(reply);
  // The reply that was replaced may have been a repeat that waited for its pages.
  if (reply_wait_ && replies_.Find(reply_wait_->first) == nullptr) reply_wait_.reset();
  expected_ = expected_ + reply.packet_count;
  ack_is_due_ = false;  // the reply acknowledges all packets before it
}

Responder::Outcome Responder::CompleteReceive(const wire::Packet& packet, uint32_t byte_count,
                                              Step& step) {
  Completion completion = ReceiveCompletionOf(packet, byte_count);
  completion.source_qp = config_.remote_qp;
  if (receive_.Finish(completion, packet.bth().solicited_event, step)) return std::nullopt;
  return ResponderError::kCompletionQueueError;
}

}  // namespace verbena::transport
