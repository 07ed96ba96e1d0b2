#include "transport/rc/responder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "transport/rc/retry_state.h"
#include "wire/roce/atomic_eth.h"

namespace verbena::transport {
namespace {

using wire::Operation;

// The requester of the same queue pair counts its tickets from the lower end.
constexpr uint64_t kTicketsOfResponder = uint64_t{1} << 63;

constexpr Duration kLongestRnrTimer = Microseconds(655'360);
constexpr Duration kHoldMax = kLongestRnrTimer;

// How often a packet arrives again before its sender gets an RNR NAK for absent pages. A requester
// also rewinds for reasons of its own: to request responses again for which it had no memory.
constexpr uint32_t kRepeatsHeld = 3;

// The largest size of a packet without its payload.
constexpr size_t kHeadersMax = 64;

// The range of a read, atomic, atomic write or flush; nullopt for a send or write.
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
                     queue::CompletionQueue& receive_cq, TagRendezvous* rendezvous)
    : config_(config), receive_(config.local_qp, source, receive_cq, rendezvous) {
  Start(Psn(0));
}

Responder::Responder(const RcConfig& config, const XrcReceivers& receivers)
    : config_(config), xrc_receivers_(&receivers), receive_(config.local_qp) {
  Start(Psn(0));
}

void Responder::Start(Psn expected) {
  CHECK(!receive_.is_taken());
  // First the calls that allocate, and may fail.
  ReplayCache replies(config_.max_dest_rd_atomic);
  wait_.Reserve(config_.path_mtu + kHeadersMax);
  who_ = config_.who;
  expected_ = expected;
  answered_ = expected - 1;
  msn_ = wire::Msn(0);
  message_ = {};
  replies_ = std::move(replies);
  nak_state_ = NakState::kNothing;
  nak_.reset();
  ack_is_due_ = ack_is_again_ = false;
  probe_ = {};
  EndWait();
  losses_ = 0;
  reply_wait_.reset();
  failure_.reset();
}

void Responder::OnRequest(const wire::Packet& packet, Step& step) {
  const wire::OpcodeInfo& info = packet.info();
  if (failure_ || info.service != config_.service() || !info.is_request) return;
  switch (PlaceOf(packet.bth().psn, expected_)) {
    case PsnPlace::kExpected:
      OnExpected(packet, step);
      break;
    case PsnPlace::kDuplicate:
      OnDuplicate(packet, step);
      break;
    case PsnPlace::kAhead:
      OnAhead(step);
      break;
  }
  DCHECK(IsConsistent());
}

// Inlined, because it handles every packet.
[[gnu::always_inline]] inline void Responder::OnExpected(const wire::Packet& packet, Step& step) {
  const wire::OpcodeInfo& info = packet.info();
  if (nak_state_ != NakState::kNothing) [[unlikely]] {
    ClearRefusal();
  }
  Outcome refusal = CheckOpcodeSequence(info, message_);
  if (!refusal) refusal = CheckAllowed(info, config_.remote_rights);
  if (!refusal) refusal = CheckResources(packet, step);
  if (!refusal) refusal = CheckLength(packet, message_, config_.path_mtu);
  if (!refusal) refusal = Execute(packet, step);
  if (refusal) return RefuseExpected(*refusal, packet, step);
  // If the packet waited for pages, they are present; the pending page request is no longer needed.
  wait_.End();
}

// Not inlined, so that a packet that is executed pays nothing for it.
[[gnu::noinline]] void Responder::RefuseExpected(NakReason reason, const wire::Packet& packet,
                                                 Step& step) {
  if (reason == NakReason(ResponderError::kPagesAbsent)) return RefuseForPages(packet, step);
  Refuse(reason, expected_, msn_, step);
}

void Responder::RefuseForPages(const wire::Packet& packet, Step& step) {
  const bool ack_was_due = ack_is_due_;
  wait_.Hold(packet);
  if (wait_.nak_was_sent()) {
    // The pages were present, and are absent again. The peer retransmits the packet when its timer
    // ends, and needs no second NAK, which may cost a retry.
    nak_state_ = NakState::kPagesAbsent;
    return;
  }
  Refuse(ResponderError::kPagesAbsent, expected_, msn_, step);
  HoldOrCountNak(ack_was_due, step);
}

// Delays the NAK that was decided, if it should be delayed. A packet that arrives repeatedly gets
// its NAK, because the timer of the peer is shorter than expected.
void Responder::HoldOrCountNak(bool ack_was_due, const Step& step) {
  const Time until = wait_.since() + HoldTime();
  if (step.now >= until || wait_.repeats() >= kRepeatsHeld) return wait_.CountNak();
  wait_.HoldNak(until);
  ack_is_due_ = ack_was_due;
}

// The packet that the NAK asked for has arrived.
[[gnu::noinline]] void Responder::ClearRefusal() {
  nak_state_ = NakState::kNothing;
  nak_.reset();
  wait_.ReleaseNak();
}

// The held packet is no longer to be executed.
void Responder::EndWait() {
  wait_.End();
  wait_.ReleaseNak();
  wait_.DropHeld();
}

// How long the NAK for absent pages is delayed. A peer that allows no or few RNR retries ends the
// connection at the NAK or soon after, and most pages arrive within a fraction of the peer's ACK
// timeout. The attributes of the peer are assumed to be those of this side, because programs give
// both ends the same. If RNR retries are unlimited, or the attributes are not known, the NAK is
// sent at once: the peer then stops sending packets that would be dropped.
Duration Responder::HoldTime() const {
  const bool is_known =
      config_.type != QpType::kXrcReceive && config_.ack_timeout != Duration::Max();
  if (!is_known || config_.rnr_retry == RetryState::kRnrForEver) return Duration();
  return std::min(config_.ack_timeout / 2, kHoldMax);
}

void Responder::OnTime(Step& step) {
  if (reply_wait_ && reply_wait_->notice_at <= step.now) NoticeHeldRead(step);
  if (step.now < wait_.nak_held_until()) return;
  wait_.ReleaseNak();
  nak_->syndrome = wire::Syndrome::RnrNak(PagesTimer(step));
  wait_.CountNak();
  ack_is_due_ = false;  // a NAK acknowledges all before it
}

// The pages of the held packet are present.
[[gnu::noinline]] void Responder::ExecuteHeld(Step& step) {
  const auto packet = wait_.held();
  CHECK(packet.has_value());
  wait_.Resume(!nak_.has_value());
  OnExpected(*packet, step);
  if (nak_state_ == NakState::kPagesAbsent) return;  // it continues to wait
  wait_.End();
  if (nak_state_ != NakState::kNothing || failure_) return;  // it was refused
  if (wait_.nak_was_sent()) {
    // The peer has gone back to this packet. It continues after it when it gets the acknowledgement
    // or reply that is due now, requested or not.
    nak_state_ = NakState::kSequenceError;
  } else if (wait_.has_dropped()) {
    Refuse(ResponderError::kSequenceGap, expected_, msn_, step);
    nak_->is_for_pages = true;
  }
}

// IBA 9.7.5.1.3 and 9.7.5.1.4: a duplicate is not executed again, except a read. A duplicate that
// is no longer in the replay cache is dropped, because a correct response is not possible.
void Responder::OnDuplicate(const wire::Packet& packet, Step& step) {
  const wire::OpcodeInfo& info = packet.info();
  if (info.operation == Operation::kSend || info.operation == Operation::kWrite) {
    ack_is_due_ = ack_is_again_ = true;
    return;
  }
  Reply* const reply = replies_.Find(packet.bth().psn);
  if (reply != nullptr && reply->kind == KindOf(info)) Replay(*reply, packet, step);
}

// A peer that has got a part of a read requests the rest.
void Responder::Replay(Reply& reply, const wire::Packet& packet, Step& step) {
  const RemoteRange range = *NamedBy(packet);
  const uint32_t from = (packet.bth().psn - reply.first.value()).value();
  const uint64_t offset = uint64_t{from} * config_.path_mtu;
  const bool is_part = range.key == reply.key &&
                       range.start.value() == reply.address.value() + offset &&
                       offset + range.length <= reply.length;
  if (!is_part) return;
  if (reply.holds_key && !reply.MayRepeat(from)) {
    step.memory.one_touch.Release(reply.key);
    reply.holds_key = false;
    return;
  }
  const bool is_read = reply.kind == Reply::Kind::kRead;
  reply.Answer(from, is_read ? PsnCountOf(range.length, config_.path_mtu) : 1,
               static_cast<uint32_t>(offset) + range.length);
  probe_.OnTimeout(packet.bth().psn, expected_);
  if (IsHeld(reply)) OnHeldReadAgain(step);
}

// IBA 9.7.5.2: one NAK per gap, and none if the peer already knows that it must retransmit.
void Responder::OnAhead(Step& step) {
  wait_.NoteDropped();
  if (nak_state_ == NakState::kNothing) Refuse(ResponderError::kSequenceGap, expected_, msn_, step);
}

wire::Syndrome Responder::SyndromeOf(NakReason reason, const Verdict& verdict,
                                     const Step& step) const {
  if (verdict.nak) return wire::Syndrome::Nak(*verdict.nak);
  const bool is_for_pages = reason == NakReason(ResponderError::kPagesAbsent);
  return wire::Syndrome::RnrNak(is_for_pages ? PagesTimer(step) : config_.min_rnr_timer);
}

// The check is named to the peer for an error of the peer, and not for one of this side.
VendorError Responder::CheckToName(NakReason reason) {
  const bool is_peers = reason.is_refusal() && reason.key() == RefusedKey::kPeers;
  return is_peers ? VendorErrorOf(reason) : 0;
}

// A Verbena requester resumes when the pages are present. Others resume when the timer ends, and
// lose a retry each time that the pages are still absent. Pages that have taken long so far are
// expected to take about as long again. IBA 9.7.5.2.8: no timer is shorter than that of the queue
// pair.
wire::RnrTimer Responder::PagesTimer(const Step& step) const {
  const bool is_measured = step.page_service != Duration::Max();
  const Duration service = is_measured ? step.page_service : config_.page_service_estimate;
  const Duration waited = step.now - wait_.since();
  return wire::RnrTimerAtLeast(
      std::max({wire::DurationOf(config_.min_rnr_timer), service, waited, ShareOfRetries()}));
}

// The part of the wait that the next RNR retry must cover, for a peer that has few: the longest
// timer for each of the last two retries, and half of the following timer for each retry before. So
// one, two, and three or more retries last 0.65, 1.3 and at least 1.6 s, and the first timer of a
// peer that has six retries is still 40 ms. The number of retries is known as in HoldTime.
Duration Responder::ShareOfRetries() const {
  const uint32_t retries = config_.rnr_retry;
  if (config_.type == QpType::kXrcReceive || retries == 0 || retries == RetryState::kRnrForEver) {
    return Duration();
  }
  const uint32_t behind = wait_.naks() + 2;  // this one, and the last but one
  const uint32_t halvings = retries > behind ? retries - behind : 0;
  return kLongestRnrTimer / (int64_t{1} << halvings);
}

void Responder::Refuse(NakReason reason, Psn psn, wire::Msn msn, Step& step) {
  const Verdict verdict = VerdictOf(reason);
  // Earlier requests may still be acknowledged.
  if (verdict.is_silent) return Fail(reason, verdict, step);
  nak_ = Acknowledgement{.psn = psn,
                         .msn = msn,
                         .syndrome = SyndromeOf(reason, verdict, step),
                         .is_for_pages = reason == NakReason(ResponderError::kPagesAbsent),
                         .check = CheckToName(reason)};
  wait_.ReleaseNak();
  ack_is_due_ = false;  // a NAK acknowledges all before it
  if (verdict.effect == QpEffect::kError) {
    Fail(reason, verdict, step);
  } else if (reason == NakReason(ResponderError::kSequenceGap)) {
    nak_state_ = NakState::kSequenceError;
  } else {
    nak_state_ = reason == NakReason(ResponderError::kPagesAbsent) ? NakState::kPagesAbsent
                                                                   : NakState::kNotReady;
  }
}

void Responder::Fail(NakReason reason, const Verdict& verdict, Step& step) {
  CHECK(!failure_.has_value());
  failure_ = FatalRefusal{.reason = reason, .verdict = verdict};
  wait_.End();
  const VendorError check = CountRefusal(reason, step.refusals);
  if (receive_.is_taken()) {
    receive_.Finish(verdict.receive_status, step, check);
  } else if (verdict.event) {
    step.outbox.Raise({.type = *verdict.event, .qp = config_.local_qp});
  }
}

FaultTicket Responder::RequestPages(const memory::Fault& fault, Step& step) {
  const FaultTicket ticket(kTicketsOfResponder | ++tickets_);
  step.outbox.RequestPages({.qp = config_.local_qp, .ticket = ticket, .fault = fault});
  return ticket;
}

void Responder::OnPagesReady(FaultTicket ticket, bool available, Step& step) {
  if (reply_wait_ && reply_wait_->ticket == ticket) {
    Reply* const reply = replies_.Find(reply_wait_->first);
    reply_wait_.reset();
    // The reply may have been for a late duplicate, and may have been replaced since.
    const bool still_waits = reply != nullptr && reply->is_pending();
    if (!available && still_waits) RefuseReply(*reply, ResponderError::kPagesUnavailable, step);
  } else if (wait_.IsFor(ticket)) {
    if (nak_state_ != NakState::kPagesAbsent) {
      wait_.End();  // the packet arrived again, with another result
    } else if (available) {
      ExecuteHeld(step);
    } else {
      wait_.End();
      Refuse(wait_.otherwise(), expected_, msn_, step);
    }
  }
  DCHECK(IsConsistent());
}

void Responder::Flush(Step& step) {
  message_ = {};
  if (reply_wait_) reply_wait_->notice_at = Time::Never();
  EndWait();
  while (const auto key = replies_.TakeHeldKey()) step.memory.one_touch.Release(*key);
  receive_.Flush(step);
}

void Responder::Abandon(Step& step) {
  if (failure_) return;
  if (const Reply* const reply = replies_.FirstPending()) {
    FailReply(*reply, ResponderError::kOwnWorkFailed, step);
  } else if (message_.is_open || wait_.is_active()) {
    Refuse(ResponderError::kOwnWorkFailed, expected_, msn_, step);
  }
}

void Responder::DropReceiver(const queue::SharedReceiveQueue& queue, Step& step) {
  const bool is_busy = receive_.is_taken() && receive_.source().Is(queue);
  receive_.Forget(queue);
  if (is_busy && !failure_) Refuse(ResponderError::kNoSuchReceiver, expected_, msn_, step);
}

bool Responder::IsConsistent() const {
  if (!replies_.IsConsistent()) return false;
  // Between inputs no packet is being executed, and a packet that waits for pages is held.
  if (wait_.state() == InboundWait::State::kResumed) return false;
  if (failure_ && wait_.is_active()) return false;
  if (nak_state_ == NakState::kPagesAbsent && wait_.is_active() && !wait_.held()) return false;
  if (wait_.nak_is_held() && !nak_) return false;
  if (message_.is_open && !failure_) {
    const bool is_send = message_.operation == Operation::kSend;
    if (is_send && !receive_.is_taken()) return false;
    if (!is_send && message_.remaining == 0) return false;
  }
  return receive_.IsConsistent();
}

}  // namespace verbena::transport
