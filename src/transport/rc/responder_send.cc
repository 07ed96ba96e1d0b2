#include <algorithm>
#include <utility>

#include "base/check.h"
#include "transport/rc/responder.h"
#include "transport/rc/response_marks.h"
#include "wire/roce/aeth.h"
#include "wire/roce/atomic_ack_eth.h"
#include "wire/roce/bth.h"

namespace verbena::transport {
namespace {

using wire::Operation;
using wire::Position;

// Notices of a held read are sent for this long. After that the peer times out.
constexpr Duration kNoticesMax = Seconds(60);
// The lower limit, however short the timer of the peer is.
constexpr Duration kNoticePeriodMin = Milliseconds(1);

// The position of packet `next` among the packets of one response.
Position PositionOf(const Reply& reply) {
  const bool is_first = reply.next == reply.begin;
  const bool is_last = reply.next + 1 == reply.end;
  if (is_first) return is_last ? Position::kOnly : Position::kFirst;
  return is_last ? Position::kLast : Position::kMiddle;
}

}  // namespace

void Responder::Pump(Step& step) {
  const size_t already = step.outbox.packets().size();
  while (step.outbox.room() > 0 && SendNext(step)) {
  }
  probe_.OnSent(step.outbox.packets().subspan(already));
  DCHECK(IsConsistent());
}

bool Responder::wants_step() const {
  if (const Reply* const reply = replies_.FirstPending()) {
    return !IsHeld(*reply) || reply_wait_->notice_is_due;
  }
  return has_due_nak() || ack_is_due_;
}

bool Responder::has_only_acks_due() const {
  return (ack_is_due_ || has_due_nak()) && !replies_.has_pending();
}

bool Responder::has_responses_due() const {
  return replies_.has_pending() || nak_.has_value() || ack_is_due_;
}

bool Responder::IsHeld(const Reply& reply) const {
  return reply_wait_ && reply_wait_->first == reply.first;
}

// False if nothing can be sent. REQUIRES: the outbox has room.
bool Responder::SendNext(Step& step) {
  if (Reply* const reply = replies_.FirstPending()) {
    return IsHeld(*reply) ? SendNotice(*reply, step) : SendReply(*reply, step);
  }
  if (has_due_nak()) {
    SendAcknowledgement(*nak_, step);
    nak_.reset();
    return true;
  }
  if (!ack_is_due_) return false;
  SendAcknowledgement({.psn = expected_ - 1,
                       .msn = msn_,
                       .syndrome = wire::Syndrome::Ack(receive_.source().credits())},
                      step);
  ack_is_due_ = false;
  return true;
}

bool Responder::SendReply(Reply& reply, Step& step) {
  if (reply.kind != Reply::Kind::kAtomic) return SendRead(reply, step);
  SendAtomicReply(reply, step);
  if (reply.is_repeat) MakeLastSingle(step);
  reply.Advance();
  return true;
}

// A packet with bytes of a read, or the empty response to an atomic write or a flush (IBA A19.4).
// The bytes are read now, with the present state of the key.
bool Responder::SendRead(Reply& reply, Step& step) {
  const uint64_t offset = uint64_t{reply.next} * config_.path_mtu;
  const uint64_t left = reply.kind == Reply::Kind::kRead ? reply.stop - offset : 0;
  const auto size = static_cast<uint32_t>(std::min<uint64_t>(left, config_.path_mtu));
  const KeyAddress start(reply.address.value() + offset);
  const memory::Translation translation = step.memory.translator.Translate(
      reply.key, start, size, memory::AccessKind::kRemoteRead, AccessorOf(reply));
  if (const memory::Refusal* const refusal = AsRefusal(translation)) {
    RefuseReply(reply, *refusal, step);
    return true;
  }
  if (const memory::Fault* const fault = AsFault(translation)) return HoldRead(reply, *fault, step);

  const memory::Ready& ready = *AsReady(translation);
  if (ready.use == memory::KeyUse::kSpent && !reply.holds_key) {
    RefuseReply(reply, memory::Refusal::kNotValid, step);
    return true;
  }
  const wire::OpcodeInfo& info = InfoOf(Operation::kReadResponse, PositionOf(reply));
  OutPacket& packet = AddPacket(reply.next_psn(), step);
  packet.payload = ready.spans;
  packet.payload_size = size;
  CHECK(packet.payload.length() == size);
  wire::PacketBuilder builder(packet.header, BthOf(info, reply.next_psn()), size);
  if (info.Has(wire::Extension::kAeth)) {
    builder.Add(
        wire::Aeth{.syndrome = wire::Syndrome::Ack(receive_.source().credits()), .msn = reply.msn});
  }
  packet.header_size = builder.headers().size();
  if (reply.is_repeat) MakeLastSingle(step);
  reply.Advance();
  // The last byte that the peer has requested: a one-touch key is used up, except for repeats of
  // this message, which the peer requests if packets are lost.
  if (!reply.is_pending() && ready.use == memory::KeyUse::kOnce) {
    step.memory.one_touch.Hold(reply.key);
    reply.holds_key = true;
  }
  return true;
}

// The reply waits. The packets executed before it are acknowledged separately, without waiting.
bool Responder::HoldRead(const Reply& reply, const memory::Fault& beginning, Step& step) {
  const uint64_t offset = uint64_t{reply.next} * config_.path_mtu;
  const memory::Translation rest = step.memory.translator.Translate(
      reply.key, KeyAddress(reply.address.value() + offset), reply.stop - offset,
      memory::AccessKind::kRemoteRead, AccessorOf(reply));
  const memory::Fault* const fault = AsFault(rest);
  reply_wait_ = ReplyWait{.ticket = RequestPages(fault != nullptr ? *fault : beginning, step),
                          .first = reply.first,
                          .since = step.now,
                          .noticed_at = step.now};
  // The timer of the peer is known as in HoldTime.
  if (config_.type != QpType::kXrcReceive && config_.ack_timeout != Duration::Max()) {
    reply_wait_->period = config_.ack_timeout / 2;
    reply_wait_->notice_at = step.now + reply_wait_->period;
  }
  if (IsBefore(answered_, reply.first - 1)) {
    SendAcknowledgement({.psn = reply.first - 1,
                         .msn = reply.msn - 1,
                         .syndrome = wire::Syndrome::Ack(receive_.source().credits())},
                        step);
  }
  return false;
}

// A held read gets no RNR NAK, which would cost other peers one of their RNR retries each time. But
// a responder may repeat an acknowledgement. The notice is the acknowledgement of all packets
// before the read, marked: a Verbena requester resets its retries and restarts its timer
// (Requester::OnHeldRead). To others it is a duplicate; Soft-RoCE restarts its timer after any
// response.
void Responder::NoticeHeldRead(const Step& step) {
  ReplyWait& held = *reply_wait_;
  const bool goes_on = held.period != Duration::Max() && step.now < held.since + kNoticesMax;
  held.notice_at = goes_on ? step.now + held.period : Time::Never();
  held.noticed_at = step.now;
  held.notice_is_due = true;
}

// The timer of the peer has ended before it got a notice.
void Responder::OnHeldReadAgain(const Step& step) {
  ReplyWait& held = *reply_wait_;
  if (step.now >= held.since + kNoticesMax) return;
  const Duration in_time = std::max((step.now - held.noticed_at) / 2, kNoticePeriodMin);
  held.period = std::min(held.period, in_time);
  NoticeHeldRead(step);
}

bool Responder::SendNotice(const Reply& reply, Step& step) {
  if (!std::exchange(reply_wait_->notice_is_due, false)) return false;
  SendAcknowledgement({.psn = reply.first - 1,
                       .msn = reply.msn - 1,
                       .syndrome = wire::Syndrome::Ack(receive_.source().credits()),
                       .is_for_pages = true},
                      step);
  return true;
}

// The key is invalid, or the pages are gone. If the read was answered once, it is dropped without
// an error: most likely the peer has the response, and this is a late duplicate of the request. The
// peer would ignore a NAK for a request that is no longer outstanding, and its next request would
// fail on a connection in error.
void Responder::RefuseReply(Reply& reply, NakReason reason, Step& step) {
  if (reply.was_sent) {
    reply.Drop();
  } else {
    FailReply(reply, reason, step);
  }
}

// Requests after it get no response, not even a NAK that may be due. A receive request in progress
// is not concerned, and is flushed with the others.
void Responder::FailReply(const Reply& reply, NakReason reason, Step& step) {
  const Verdict verdict = VerdictOf(reason);
  nak_ = Acknowledgement{.psn = reply.next_psn(),
                         .msn = reply.msn - 1,
                         .syndrome = SyndromeOf(reason, verdict, step),
                         .check = CheckToName(reason)};
  wait_.ReleaseNak();
  ack_is_due_ = false;
  replies_.DropPending();
  reply_wait_.reset();
  if (failure_) return;
  failure_ = FatalRefusal{.reason = reason, .verdict = verdict};
  CountRefusal(reason, step.refusals);
  wait_.End();
  if (verdict.event) step.outbox.Raise({.type = *verdict.event, .qp = config_.local_qp});
}

bool Responder::TakeBack(const OutPacket& packet, bool is_loss, Step& step) {
  const wire::Bth bth = *wire::Bth::Parse(packet.header);
  if (wire::FindOpcode(bth.opcode)->operation == Operation::kAcknowledge) {
    const auto aeth = wire::Aeth::Parse(std::span(packet.header).subspan<wire::Bth::kSize>());
    // A NAK is sent once. The peer requests what is missing before it.
    if (!aeth->syndrome.is_ack()) return false;
    ack_is_due_ = true;
    return true;
  }
  Reply* const reply = replies_.Find(bth.psn);
  if (reply == nullptr || failure_) return true;
  reply->TakeBack((bth.psn - reply->first.value()).value());
  if (is_loss && reply->losses++ == kLossesMax) {
    RefuseReply(*reply, ResponderError::kPagesUnavailable, step);
  }
  return true;
}

memory::Accessor Responder::AccessorOf(const Reply& reply) const {
  return {.pd = reply.pd, .qp = who_.qp};
}

// Both services have an entry for everything that a responder sends.
const wire::OpcodeInfo& Responder::InfoOf(Operation operation, Position position) const {
  const wire::OpcodeInfo* const info = wire::FindOpcode(config_.service(), operation, position);
  CHECK(info != nullptr);
  return *info;
}

void Responder::SendAcknowledgement(const Acknowledgement& answer, Step& step) {
  OutPacket& packet = AddPacket(answer.psn, step);
  if (std::exchange(ack_is_again_, false)) MakeLastSingle(step);
  wire::Bth bth = BthOf(InfoOf(Operation::kAcknowledge), answer.psn);
  if (answer.is_for_pages) MarkFault(bth);
  wire::PacketBuilder builder(packet.header, bth, 0);
  builder.Add(wire::Aeth{.syndrome = answer.syndrome, .msn = answer.msn});
  packet.header_size = builder.headers().size();
  if (answer.check != 0) MarkRefusal(packet.header, answer.check);
}

void Responder::SendAtomicReply(const Reply& reply, Step& step) {
  OutPacket& packet = AddPacket(reply.first, step);
  const wire::Bth bth = BthOf(InfoOf(Operation::kAtomicAcknowledge), reply.first);
  wire::PacketBuilder builder(packet.header, bth, 0);
  builder.Add(
      wire::Aeth{.syndrome = wire::Syndrome::Ack(receive_.source().credits()), .msn = reply.msn});
  builder.Add(wire::AtomicAckEth{.original = reply.original});
  packet.header_size = builder.headers().size();
}

// A response that the peer has missed once leaves as a single datagram.
void Responder::MakeLastSingle(Step& step) {
  step.outbox.MakeSingle(step.outbox.packets().size() - 1);
}

OutPacket& Responder::AddPacket(Psn psn, Step& step) {
  if (IsBefore(answered_, psn)) answered_ = psn;
  OutPacket& packet = step.outbox.AddPacket();
  packet.path = config_.path;
  packet.source_qp = config_.local_qp;
  return packet;
}

wire::Bth Responder::BthOf(const wire::OpcodeInfo& info, Psn psn) const {
  wire::Bth bth;
  bth.opcode = info.opcode;
  bth.p_key = config_.p_key;
  bth.dest_qp = config_.remote_qp;
  bth.psn = psn;
  return bth;
}

}  // namespace verbena::transport
