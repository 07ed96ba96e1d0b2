#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "transport/rc/responder.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/feth.h"
#include "wire/roce/ieth.h"
#include "wire/roce/immdt.h"

namespace verbena::transport {
namespace {

using memory::Access;
using queue::Completion;
using queue::CompletionOpcode;
using queue::CompletionStatus;
using wire::Operation;

// Such a request needs a place in the replay cache.
bool NeedsReply(const wire::OpcodeInfo& info) {
  return info.operation != Operation::kSend && info.operation != Operation::kWrite;
}

// A send needs a receive request from its first packet on, a write with immediate at its last.
bool NeedsReceive(const wire::OpcodeInfo& info) {
  return info.operation == Operation::kSend || info.has_immediate();
}

}  // namespace

Responder::Outcome Responder::CheckResources(const wire::OpcodeInfo& info, Turn& turn) {
  if (NeedsReply(info) && !replies_.HasRoom()) return Reason::kTooManyOutstanding;
  if (NeedsReceive(info) && !TakeReceive(turn)) return Reason::kReceiverNotReady;
  return std::nullopt;
}

Responder::Outcome Responder::Execute(const wire::Packet& packet, Turn& turn) {
  switch (packet.info().operation) {
    case Operation::kSend:
      return ExecuteSend(packet, turn);
    case Operation::kWrite:
      return ExecuteWrite(packet, turn);
    case Operation::kReadRequest:
      return ExecuteRead(packet, turn);
    case Operation::kCompareSwap:
    case Operation::kFetchAdd:
      return ExecuteAtomicOperation(packet, turn);
    case Operation::kAtomicWrite:
      return ExecuteAtomicStore(packet, turn);
    case Operation::kFlush:
      return ExecuteFlush(packet, turn);
    case Operation::kReadResponse:
    case Operation::kAcknowledge:
    case Operation::kAtomicAcknowledge:
    case Operation::kResync:
    case Operation::kCongestionNotification:
      break;  // no requests of a reliable connection
  }
  UNREACHABLE();
}

Responder::Outcome Responder::ExecuteSend(const wire::Packet& packet, Turn& turn) {
  const wire::OpcodeInfo& info = packet.info();
  const std::span<const std::byte> payload = packet.payload();
  // IBA 9.7.4.1: a message that is longer than the receive request is an invalid request.
  const uint64_t room = std::min<uint64_t>(receive_->element.length, kMessageMax);
  if (payload.size() > room - receive_->cursor.offset()) return Reason::kMessageTooLong;

  const uint64_t ahead = info.ends_message() ? payload.size() : kSendAheadMax;
  if (const auto no = OutcomeOf(
          ScatterSend(receive_->cursor, payload, ahead, config_.who, turn.memory), turn)) {
    return no;
  }
  if (info.ends_message()) {
    if (const auto ieth = packet.Get<wire::Ieth>()) {
      const auto invalidated = turn.memory.Invalidate(memory::Key(ieth->r_key.value()),
                                                      memory::Origin::kRemote, config_.who);
      if (!invalidated) return invalidated.error();
    }
    const auto byte_count = static_cast<uint32_t>(receive_->cursor.offset());
    if (const auto no = CompleteReceive(packet, byte_count, turn)) return no;
    ++msn_;
  }
  message_.is_open = !info.ends_message();
  message_.operation = Operation::kSend;
  ++expected_;
  ack_is_due_ = true;
  return std::nullopt;
}

Responder::Outcome Responder::ExecuteWrite(const wire::Packet& packet, Turn& turn) {
  const wire::OpcodeInfo& info = packet.info();
  RemoteRange rest{message_.key, message_.next, message_.remaining};
  if (info.starts_message()) {
    rest = RangeOf(*packet.Get<wire::Reth>());
    const bool is_whole = info.ends_message();  // then its translation asks the same
    if (!is_whole) {
      if (const auto no = CheckKey(rest, Access::kRemoteWrite, config_.who, turn.memory)) return no;
    }
  }
  const std::span<const std::byte> payload = packet.payload();
  if (const auto no = OutcomeOf(PlaceWrite(rest, payload, config_.who, turn.memory), turn)) {
    return no;
  }
  const auto size = static_cast<uint32_t>(payload.size());
  const uint32_t received = (info.starts_message() ? 0 : message_.received) + size;
  if (info.ends_message()) {
    if (const auto no = TouchKey(rest.key, size, packet.bth().psn, turn)) return no;
    if (info.has_immediate()) {
      if (const auto no = CompleteReceive(packet, received, turn)) return no;
    }
    ++msn_;
  }
  message_ = {.is_open = !info.ends_message(),
              .operation = Operation::kWrite,
              .key = rest.key,
              .next = memory::KeyAddress(rest.start.value() + size),
              .remaining = rest.length - size,
              .received = received};
  ++expected_;
  ack_is_due_ = true;
  return std::nullopt;
}

// Nothing is read yet: the replies take the bytes when they go out.
Responder::Outcome Responder::ExecuteRead(const wire::Packet& packet, Turn& turn) {
  const RemoteRange range = RangeOf(*packet.Get<wire::Reth>());
  if (const auto no = CheckKey(range, Access::kRemoteRead, config_.who, turn.memory)) return no;
  Owe({.kind = Reply::Kind::kRead, .packet_count = PsnCountOf(range.length, config_.path_mtu)},
      range);
  return std::nullopt;
}

Responder::Outcome Responder::ExecuteAtomicOperation(const wire::Packet& packet, Turn& turn) {
  const wire::AtomicEth eth = *packet.Get<wire::AtomicEth>();
  const RemoteRange word = RangeOf(eth);
  const AtomicResult result =
      ExecuteAtomic(word,
                    {.is_compare_swap = packet.info().operation == Operation::kCompareSwap,
                     .compare = eth.compare,
                     .swap_or_add = eth.swap_or_add},
                    config_.who, turn.memory);
  if (const Cause* const cause = std::get_if<Cause>(&result)) return *cause;
  if (const auto* const fault = std::get_if<memory::Fault>(&result)) {
    return WaitForPages(*fault, turn);
  }
  if (const auto no = TouchKey(word.key, word.length, packet.bth().psn, turn)) return no;
  Owe({.kind = Reply::Kind::kAtomic, .original = std::get<uint64_t>(result)}, word);
  return std::nullopt;
}

Responder::Outcome Responder::ExecuteAtomicStore(const wire::Packet& packet, Turn& turn) {
  const RemoteRange word = RangeOf(*packet.Get<wire::Reth>());
  const Placement placement = PlaceAtomicWrite(word, packet.payload(), config_.who, turn.memory);
  if (const auto no = OutcomeOf(placement, turn)) return no;
  if (const auto no = TouchKey(word.key, word.length, packet.bth().psn, turn)) return no;
  Owe({.kind = Reply::Kind::kPlaced}, word);
  return std::nullopt;
}

Responder::Outcome Responder::ExecuteFlush(const wire::Packet& packet, Turn& turn) {
  const RemoteRange range = RangeOf(*packet.Get<wire::Reth>());
  if (const auto no = CheckFlush(*packet.Get<wire::Feth>(), range, config_.who, turn.memory)) {
    return no;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Owe({.kind = Reply::Kind::kPlaced}, range);
  return std::nullopt;
}

Responder::Outcome Responder::OutcomeOf(const Placement& placement, Turn& turn) {
  if (const Cause* const cause = std::get_if<Cause>(&placement)) return *cause;
  if (const auto* const fault = std::get_if<memory::Fault>(&placement)) {
    return WaitForPages(*fault, turn);
  }
  return std::nullopt;
}

// A packet that comes again before its pages do is refused again, and asks for nothing new.
Responder::Outcome Responder::WaitForPages(const memory::Fault& fault, Turn& turn) {
  if (!inbound_wait_) inbound_wait_ = RequestPages(fault, turn);
  return Reason::kPagesAbsent;
}

Responder::Outcome Responder::TouchKey(memory::Key key, uint32_t length, wire::Psn psn,
                                       Turn& turn) const {
  return transport::TouchKey(key, length, psn, config_.who, turn.memory);
}

void Responder::Owe(Reply reply, const RemoteRange& range) {
  reply.first = expected_;
  reply.msn = ++msn_;
  reply.key = range.key;
  reply.address = range.start;
  reply.length = range.length;
  replies_.Add(reply);
  // The reply that gave way may have been one to be repeated, and waiting for its pages.
  if (reply_wait_ && replies_.Find(reply_wait_->first) == nullptr) reply_wait_.reset();
  expected_ = expected_ + reply.packet_count;
  ack_is_due_ = false;  // the reply acknowledges all before it
}

bool Responder::TakeReceive(Turn& turn) {
  if (receive_) return true;  // of this message, or of one that was refused for now
  const auto element = source_.Take();
  if (!element) return false;
  if (element->limit_reached) {
    turn.outbox.Raise({.type = AsyncEventType::kSrqLimitReached, .qp = config_.local_qp});
  }
  receive_ = Receive{.element = *element, .cursor = queue::SgeCursor(element->sges)};
  return true;
}

Completion Responder::CompletionOf(queue::WrId id, CompletionStatus status) const {
  Completion completion;
  completion.id = id;
  completion.qp = queue::QpNumber(config_.local_qp.value());
  completion.source_qp = queue::QpNumber(config_.remote_qp.value());
  completion.status = status;
  completion.opcode = CompletionOpcode::kReceive;
  return completion;
}

Responder::Outcome Responder::CompleteReceive(const wire::Packet& packet, uint32_t byte_count,
                                              Turn& turn) {
  Completion completion = CompletionOf(receive_->element.id, CompletionStatus::kSuccess);
  completion.byte_count = byte_count;
  if (packet.info().operation == Operation::kWrite) {
    completion.opcode = CompletionOpcode::kReceiveWithImmediate;
  }
  if (const auto immediate = packet.Get<wire::ImmDt>()) {
    completion.flags.with_immediate = true;
    completion.immediate = queue::Immediate(immediate->data);
  }
  if (const auto ieth = packet.Get<wire::Ieth>()) {
    completion.flags.with_invalidate = true;
    completion.invalidated = queue::KeyValue(ieth->r_key.value());
  }
  if (!FinishReceive(completion, packet.bth().solicited_event, turn)) {
    return Reason::kCompletionQueueError;
  }
  return std::nullopt;
}

// False when the completion is lost.
bool Responder::FinishReceive(const Completion& completion, bool solicited, Turn& turn) {
  using PushStatus = queue::CompletionQueue::PushStatus;
  source_.Finish(receive_->element);
  receive_.reset();
  const auto pushed = receive_cq_.Push(completion, solicited, turn.now);
  if (pushed.event_now) turn.outbox.RaiseCompletionEvent(receive_cq_);
  if (pushed.status == PushStatus::kOverflowed) {
    turn.outbox.Raise({.type = AsyncEventType::kCqError, .qp = config_.local_qp});
  }
  return pushed.status == PushStatus::kStored;
}

}  // namespace verbena::transport
