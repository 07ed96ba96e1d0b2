#include "transport/uc/uc_responder.h"

#include "base/check.h"
#include "wire/roce/reth.h"

namespace verbena::transport {
namespace {

using memory::AccessKind;
using wire::Operation;

// Whether the error is on this side. A message that is longer than the receive request is not such
// an error (IBA 9.9.3, class D): it is dropped, and the request serves the next message.
bool IsOurs(NakReason reason) {
  return reason == NakReason(ResponderError::kReceiveBufferRefused) ||
         reason == NakReason(ResponderError::kCompletionQueueError) ||
         (reason.is_refusal() && reason.key() == RefusedKey::kOwn);
}

// The error if the pages of a message cannot be paged in. A receive request that names memory which
// cannot be paged in is an error of the program.
ResponderError Otherwise(bool is_of_receive) {
  return is_of_receive ? ResponderError::kReceiveBufferRefused : ResponderError::kPagesUnavailable;
}

}  // namespace

void UcResponder::OnPacket(const wire::Packet& packet, Step& step) {
  if (failure_ || packet.info().service != wire::Service::kUc) return;
  if (!held_.empty() || !Serve(packet, step)) Hold(packet);
  DCHECK(IsConsistent());
}

// False if the packet waits for pages. It is executed again then, as if it arrived at that time.
bool UcResponder::Serve(const wire::Packet& packet, Step& step) {
  if (!Follows(packet)) return true;
  const Outcome refusal = Execute(packet, step);
  if (!refusal) return true;
  if (*refusal == NakReason(ResponderError::kPagesAbsent)) {
    expected_ = packet.bth().psn;
    return false;
  }
  Refuse(*refusal, step);
  return true;
}

// Not inlined, so that a packet that is executed pays nothing for it. A packet for which there is
// no room, or no memory, is lost, as if on the network; then no packet waits for its pages.
[[gnu::noinline]] void UcResponder::Hold(const wire::Packet& packet) {
  if (held_.Hold(packet)) return;
  if (packet.info().starts_message()) ++counters_.pages_absent;
  if (held_.empty()) Forget();
}

[[gnu::noinline]] bool UcResponder::ServeHeld(Step& step) {
  for (int i = 0; i < HeldPackets::kAtOnce && !held_.empty() && !page_wait_; ++i) {
    if (!Serve(held_.oldest(), step)) break;
    // After a failure all of them are dropped already.
    if (!failure_) DropOldest();
  }
  DCHECK(IsConsistent());
  return !held_.empty() && !page_wait_;
}

void UcResponder::DropOldest() {
  held_.DropOldest();
  losses_ = 0;
}

// IBA 9.8.2.2.1: whether the packet starts a message or continues the one in progress. A gap ends
// that message, and so does the start of another.
bool UcResponder::Follows(const wire::Packet& packet) {
  const wire::OpcodeInfo& info = packet.info();
  const bool is_in_order = packet.bth().psn == expected_;
  expected_ = packet.bth().psn + 1;
  const bool goes_on =
      is_in_order && message_.is_open && !CheckOpcodeSequence(info, message_).has_value();
  if (goes_on) return true;

  const bool is_loss = message_.is_open || (!info.starts_message() && !is_dropping_);
  counters_.out_of_sequence += is_loss ? 1 : 0;
  Drop();
  if (info.starts_message()) is_dropping_ = false;
  return info.starts_message();
}

UcResponder::Outcome UcResponder::Execute(const wire::Packet& packet, Step& step) {
  const wire::OpcodeInfo& info = packet.info();
  if (const auto no = CheckAllowed(info, config_.remote_rights)) return no;
  if (const auto no = CheckLength(packet, message_, config_.path_mtu)) return no;
  // A send needs a receive request from its first packet on, a write with immediate at its last
  // packet.
  const bool needs_receive = info.operation == Operation::kSend || info.has_immediate();
  if (needs_receive && !receive_.Take(step)) return ResponderError::kReceiverNotReady;
  return info.operation == Operation::kSend ? ExecuteSend(packet, step)
                                            : ExecuteWrite(packet, step);
}

UcResponder::Outcome UcResponder::ExecuteSend(const wire::Packet& packet, Step& step) {
  const wire::OpcodeInfo& info = packet.info();
  const std::span<const std::byte> payload = packet.payload();
  const uint64_t longer = receive_.filled() + payload.size();
  if (payload.size() > receive_.room() || longer > kMessageMax)
    return ResponderError::kMessageTooLong;

  const uint64_t ahead = info.ends_message() ? payload.size() : kSendAheadMax;
  const Placement placed = receive_.Append(payload, ahead, config_.who, step.memory);
  if (const auto no = OutcomeOf(placed, true, step)) return no;
  message_.is_open = !info.ends_message();
  message_.operation = Operation::kSend;
  if (!info.ends_message()) return std::nullopt;
  return CompleteReceive(packet, static_cast<uint32_t>(receive_.filled()), step);
}

UcResponder::Outcome UcResponder::ExecuteWrite(const wire::Packet& packet, Step& step) {
  const wire::OpcodeInfo& info = packet.info();
  RemoteRange rest{message_.key, message_.next, message_.remaining};
  if (info.starts_message()) {
    rest = RangeOf(*packet.Get<wire::Reth>());
    if (const auto no = CheckKey(rest, AccessKind::kRemoteWrite, config_.who, step.memory))
      return no;
  }
  const std::span<const std::byte> payload = packet.payload();
  const Placement placed = PlaceWrite(rest, payload, config_.who, step.memory);
  if (const auto no = OutcomeOf(placed, false, step)) return no;
  const auto size = static_cast<uint32_t>(payload.size());
  message_ = {.is_open = !info.ends_message(),
              .operation = Operation::kWrite,
              .key = rest.key,
              .next = KeyAddress(rest.start.value() + size),
              .remaining = rest.length - size,
              .received = (info.starts_message() ? 0 : message_.received) + size};
  if (!info.ends_message()) return std::nullopt;
  EndUse(rest.key, std::get<Placed>(placed).use, packet.bth().psn, config_.who, step.memory);
  return info.has_immediate() ? CompleteReceive(packet, message_.received, step) : std::nullopt;
}

UcResponder::Outcome UcResponder::OutcomeOf(const Placement& placement, bool is_of_receive,
                                            Step& step) {
  if (const NakReason* const reason = std::get_if<NakReason>(&placement)) return *reason;
  const auto* const fault = std::get_if<memory::Fault>(&placement);
  return fault == nullptr ? std::nullopt : WaitForPages(*fault, is_of_receive, step);
}

UcResponder::Outcome UcResponder::WaitForPages(const memory::Fault& fault, bool is_of_receive,
                                               Step& step) {
  if (fault.is_loss && losses_++ == kLossesMax) return Otherwise(is_of_receive);
  page_wait_ = PageWait{FaultTicket(kReceiverTickets | ++tickets_), is_of_receive};
  step.outbox.RequestPages(
      {.qp = config_.local_qp, .ticket = page_wait_->ticket, .fault = fault, .is_urgent = true});
  return ResponderError::kPagesAbsent;
}

UcResponder::Outcome UcResponder::CompleteReceive(const wire::Packet& packet, uint32_t byte_count,
                                                  Step& step) {
  Completion completion = ReceiveCompletionOf(packet, byte_count);
  completion.source_qp = config_.remote_qp;
  if (receive_.Finish(completion, packet.bth().solicited_event, step)) return std::nullopt;
  return ResponderError::kCompletionQueueError;
}

void UcResponder::Refuse(NakReason reason, Step& step) {
  if (IsOurs(reason)) return Fail(reason, step);
  if (reason == NakReason(ResponderError::kReceiverNotReady)) {
    ++counters_.no_receive;
  } else if (reason == NakReason(ResponderError::kPagesUnavailable)) {
    ++counters_.pages_absent;
  } else {
    ++counters_.refused;
    CountRefusal(reason, step.refusals);
  }
  Drop();
}

void UcResponder::Drop() {
  message_ = {};
  is_dropping_ = true;
  if (receive_.is_taken()) receive_.Rewind();
}

void UcResponder::Fail(NakReason reason, Step& step) {
  failure_ = reason;
  message_ = {};
  Forget();
  const Verdict verdict = VerdictOf(reason);
  const VendorError check = CountRefusal(reason, step.refusals);
  if (receive_.is_taken()) {
    receive_.Finish(verdict.receive_status, step, check);
  } else if (verdict.event) {
    step.outbox.Raise({*verdict.event, config_.local_qp});
  }
}

void UcResponder::OnPagesReady(FaultTicket ticket, bool available, Step& step) {
  if (!page_wait_ || page_wait_->ticket != ticket) return;
  const bool is_of_receive = page_wait_->is_of_receive;
  page_wait_.reset();
  if (available) return;  // Run executes the held packets
  expected_ = held_.oldest().bth().psn + 1;
  DropOldest();
  Refuse(Otherwise(is_of_receive), step);
  DCHECK(IsConsistent());
}

void UcResponder::Forget() {
  page_wait_.reset();
  held_.Clear();
  losses_ = 0;
}

void UcResponder::Flush(Step& step) {
  message_ = {};
  Forget();
  receive_.Flush(step);
}

bool UcResponder::IsConsistent() const {
  if (!receive_.IsConsistent() || (failure_ && message_.is_open)) return false;
  if (!held_.IsConsistent() || (held_.empty() && page_wait_) || (failure_ && !held_.empty())) {
    return false;
  }
  if (!message_.is_open) return true;
  if (is_dropping_) return false;
  return message_.operation == Operation::kSend ? receive_.is_taken() : message_.remaining > 0;
}

}  // namespace verbena::transport
