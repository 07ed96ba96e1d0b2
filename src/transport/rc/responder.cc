#include "transport/rc/responder.h"

#include <utility>

#include "base/check.h"
#include "wire/roce/atomic_eth.h"

namespace verbena::transport {
namespace {

using wire::Operation;

// The requester of the same queue pair counts its tickets from below.
constexpr uint64_t kTicketsOfResponder = uint64_t{1} << 63;

// All that a packet has beside its payload.
constexpr size_t kHeadersMax = 64;

// What a read, atomic, atomic write or flush names; nothing for a send or write.
std::optional<RemoteRange> NamedBy(const wire::Packet& packet) {
  if (const auto eth = packet.Get<wire::AtomicEth>()) return RangeOf(*eth);
  if (packet.info().operation == Operation::kWrite) return std::nullopt;
  if (const auto reth = packet.Get<wire::Reth>()) return RangeOf(*reth);
  return std::nullopt;
}

Reply::Kind KindOf(const wire::OpcodeInfo& info) {
  if (info.is_atomic()) return Reply::Kind::kAtomic;
  return info.operation == Operation::kReadRequest ? Reply::Kind::kRead : Reply::Kind::kPlaced;
}

}  // namespace

Responder::Responder(const RcConfig& config, ReceiveSource source,
                     queue::CompletionQueue& receive_cq, Rendezvous* rendezvous)
    : config_(config), receive_(config.local_qp, source, receive_cq, rendezvous) {
  Start(wire::Psn(0));
}

Responder::Responder(const RcConfig& config, const XrcDomain& domain)
    : config_(config), domain_(&domain), receive_(config.local_qp) {
  Start(wire::Psn(0));
}

void Responder::Start(wire::Psn expected) {
  CHECK(!receive_.is_taken());
  // First what may find no memory.
  ReplayCache replies(config_.max_dest_rd_atomic);
  kept_.Reserve(config_.path_mtu + kHeadersMax);
  who_ = config_.who;
  expected_ = expected;
  answered_ = expected - 1;
  msn_ = wire::Msn(0);
  message_ = {};
  replies_ = std::move(replies);
  told_ = Told::kNothing;
  nak_.reset();
  ack_is_due_ = false;
  inbound_wait_.reset();
  kept_.Drop();
  has_dropped_ = false;
  losses_ = 0;
  reply_wait_.reset();
  failure_.reset();
}

void Responder::OnRequest(const wire::Packet& packet, Turn& turn) {
  const wire::OpcodeInfo& info = packet.info();
  if (failure_ || info.service != config_.service() || !info.is_request) return;
  switch (PlaceOf(packet.bth().psn, expected_)) {
    case PsnPlace::kExpected:
      OnExpected(packet, turn);
      break;
    case PsnPlace::kDuplicate:
      OnDuplicate(packet, turn);
      break;
    case PsnPlace::kAhead:
      OnAhead(turn);
      break;
  }
  DCHECK(IsConsistent());
}

// Inlined where every packet comes by.
[[gnu::always_inline]] inline void Responder::OnExpected(const wire::Packet& packet, Turn& turn) {
  const wire::OpcodeInfo& info = packet.info();
  told_ = Told::kNothing;
  nak_.reset();  // it was about this packet, which is here

  Outcome refusal = CheckOpcodeSequence(info, message_);
  if (!refusal) refusal = CheckAllowed(info, config_.remote_rights);
  if (!refusal) refusal = CheckResources(packet, turn);
  if (!refusal) refusal = CheckLength(packet, message_, config_.path_mtu);
  if (!refusal) refusal = Execute(packet, turn);
  if (refusal) return RefuseExpected(*refusal, packet, turn);
  // If it waited for pages, they have come; how they come otherwise is nobody's concern any more.
  inbound_wait_.reset();
}

// Apart, so that a packet that is executed pays nothing for it.
[[gnu::noinline]] void Responder::RefuseExpected(Cause cause, const wire::Packet& packet,
                                                 Turn& turn) {
  if (cause == Cause(Reason::kPagesAbsent)) {
    kept_.Keep(packet);
    has_dropped_ = false;
  }
  Refuse(cause, expected_, msn_, turn);
}

// Its pages are there.
[[gnu::noinline]] void Responder::ExecuteKept(Turn& turn) {
  const auto packet = kept_.packet();
  CHECK(packet.has_value());
  const bool peer_is_told = !nak_.has_value();
  const bool has_dropped = has_dropped_;
  OnExpected(*packet, turn);
  if (told_ != Told::kNothing || failure_) return;  // it was refused
  if (peer_is_told) {
    // It went back to this packet, and goes on behind it when it hears that it is done.
    told_ = Told::kSequenceError;
  } else if (has_dropped) {
    return Refuse(Reason::kSequenceGap, expected_, msn_, turn);
  }
  const Operation operation = packet->info().operation;
  if (operation == Operation::kSend || operation == Operation::kWrite) ack_is_due_ = true;
}

// IBA 9.7.5.1.3 and 9.7.5.1.4: what was executed is not executed again, but for reads, which are.
// Those that are no longer known are dropped, since no answer to them would be a true one.
void Responder::OnDuplicate(const wire::Packet& packet, Turn& turn) {
  const wire::OpcodeInfo& info = packet.info();
  if (info.operation == Operation::kSend || info.operation == Operation::kWrite) {
    ack_is_due_ = true;
    return;
  }
  Reply* const reply = replies_.Find(packet.bth().psn);
  if (reply != nullptr && reply->kind == KindOf(info)) AnswerAgain(*reply, packet, turn);
}

// A peer that has got a part of a read asks for the rest of it.
void Responder::AnswerAgain(Reply& reply, const wire::Packet& packet, Turn& turn) const {
  const RemoteRange range = *NamedBy(packet);
  const uint32_t from = (packet.bth().psn - reply.first.value()).value();
  const uint64_t offset = uint64_t{from} * config_.path_mtu;
  const bool is_part = range.key == reply.key &&
                       range.start.value() == reply.address.value() + offset &&
                       offset + range.length <= reply.length;
  if (!is_part) return;
  if (reply.holds_key && !reply.MayRepeat(from)) {
    turn.memory.one_touch.Release(reply.key);
    reply.holds_key = false;
    return;
  }
  const bool is_read = reply.kind == Reply::Kind::kRead;
  reply.Answer(from, is_read ? PsnCountOf(range.length, config_.path_mtu) : 1,
               static_cast<uint32_t>(offset) + range.length);
}

// IBA 9.7.5.2: one NAK for one hole, and none where the peer knows already that it must come back.
void Responder::OnAhead(Turn& turn) {
  has_dropped_ = true;
  if (told_ == Told::kNothing) Refuse(Reason::kSequenceGap, expected_, msn_, turn);
}

wire::Syndrome Responder::SyndromeOf(Cause cause, const Verdict& verdict, const Turn& turn) const {
  if (verdict.nak) return wire::Syndrome::Nak(*verdict.nak);
  if (cause != Cause(Reason::kPagesAbsent)) return wire::Syndrome::RnrNak(config_.min_rnr_timer);
  // A Verbena requester resumes when the pages are there; others when the timer says so.
  const bool is_measured = turn.page_service != Duration::Max();
  return wire::Syndrome::RnrNak(
      wire::RnrTimerAtLeast(is_measured ? turn.page_service : config_.page_service_estimate));
}

void Responder::Refuse(Cause cause, wire::Psn psn, wire::Msn msn, Turn& turn) {
  const Verdict verdict = VerdictOf(cause);
  nak_ = Nak{.psn = psn, .msn = msn, .syndrome = SyndromeOf(cause, verdict, turn)};
  ack_is_due_ = false;  // a NAK acknowledges all before it
  if (verdict.effect == QpEffect::kError) {
    Fail(cause, verdict, turn);
  } else if (cause == Cause(Reason::kSequenceGap)) {
    told_ = Told::kSequenceError;
  } else {
    told_ = cause == Cause(Reason::kPagesAbsent) ? Told::kPagesAbsent : Told::kNotReady;
  }
}

void Responder::Fail(Cause cause, const Verdict& verdict, Turn& turn) {
  CHECK(!failure_.has_value());
  failure_ = Failure{.cause = cause, .verdict = verdict};
  inbound_wait_.reset();
  if (receive_.is_taken()) {
    receive_.Finish(verdict.receive_status, turn);
  } else if (verdict.event) {
    turn.outbox.Raise({.type = *verdict.event, .qp = config_.local_qp});
  }
}

FaultTicket Responder::RequestPages(const memory::Fault& fault, Turn& turn) {
  const FaultTicket ticket(kTicketsOfResponder | ++tickets_);
  turn.outbox.RequestPages({.qp = config_.local_qp, .ticket = ticket, .fault = fault});
  return ticket;
}

void Responder::OnPagesReady(FaultTicket ticket, bool available, Turn& turn) {
  if (reply_wait_ && reply_wait_->ticket == ticket) {
    const Reply* const reply = replies_.Find(reply_wait_->first);
    reply_wait_.reset();
    // It may have been to a late duplicate, and forgotten since.
    const bool still_waits = reply != nullptr && reply->is_pending();
    if (!available && still_waits) FailReply(*reply, Reason::kPagesUnavailable, turn);
  } else if (inbound_wait_ && inbound_wait_->ticket == ticket) {
    const Reason otherwise = inbound_wait_->otherwise;
    inbound_wait_.reset();
    if (told_ != Told::kPagesAbsent) return;  // the packet came again, and fared otherwise
    if (available) {
      ExecuteKept(turn);
    } else {
      Refuse(otherwise, expected_, msn_, turn);
    }
  }
  DCHECK(IsConsistent());
}

void Responder::Flush(Turn& turn) {
  message_ = {};
  inbound_wait_.reset();  // what was kept is not executed any more
  kept_.Drop();
  while (const auto key = replies_.TakeHeldKey()) turn.memory.one_touch.Release(*key);
  receive_.Flush(turn);
}

void Responder::ForgetReceiver(const queue::SharedReceiveQueue& queue, Turn& turn) {
  const bool is_busy = receive_.is_taken() && receive_.source().Is(queue);
  receive_.Forget(queue);
  if (is_busy && !failure_) Refuse(Reason::kNoSuchReceiver, expected_, msn_, turn);
}

bool Responder::IsConsistent() const {
  if (!replies_.IsConsistent()) return false;
  if (failure_ && inbound_wait_) return false;
  if (message_.is_open && !failure_) {
    const bool is_send = message_.operation == Operation::kSend;
    if (is_send && !receive_.is_taken()) return false;
    if (!is_send && message_.remaining == 0) return false;
  }
  return receive_.IsConsistent();
}

}  // namespace verbena::transport
