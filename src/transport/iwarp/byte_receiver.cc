#include "transport/iwarp/byte_receiver.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::transport {
namespace {

// What is placed at a time: when pages are absent, the bytes before the piece stay placed.
constexpr uint64_t kPieceMax = uint64_t{64} << 10;

}  // namespace

void ByteReceiver::Start() {
  CHECK(!receive_.is_taken());
  wait_.reset();
  waits_for_request_ = peer_has_ended_ = end_was_reported_ = has_failed_ = false;
  losses_ = 0;
}

size_t ByteReceiver::OnBytes(std::span<const std::byte> bytes, Step& step) {
  if (wait_) return 0;
  waits_for_request_ = false;
  size_t taken = 0;
  while (taken < bytes.size() && !has_failed_) {
    if (!receive_.Take(step)) {
      waits_for_request_ = true;
      return taken;
    }
    const auto piece = bytes.subspan(
        taken, std::min({receive_.room(), uint64_t{bytes.size() - taken}, kPieceMax}));
    if (!Place(piece, step)) return taken;
    taken += piece.size();
    // A request without buffers completes, too: it says that bytes have arrived.
    const bool has_all = taken == bytes.size() && !receive_.fills();
    if (receive_.room() == 0 || has_all) Complete(step);
  }
  return taken;
}

// False if the request waits for pages, or has failed.
bool ByteReceiver::Place(std::span<const std::byte> piece, Step& step) {
  if (piece.empty()) return true;
  const uint64_t ahead = receive_.fills() ? kSendAheadMax : piece.size();
  const Placement placed = receive_.Append(piece, ahead, config_.who, step.memory);
  if (std::holds_alternative<Placed>(placed)) {
    losses_ = 0;
    return true;
  }
  if (const auto* const fault = std::get_if<memory::Fault>(&placed)) {
    had_receive_fault_ = true;
    WaitFor(*fault, step);
  } else {
    const NakReason reason = std::get<NakReason>(placed);
    Fail(CompletionStatus::kLocalProtectionError, CountRefusal(reason, step.refusals), step);
  }
  return false;
}

void ByteReceiver::WaitFor(const memory::Fault& fault, Step& step) {
  if (fault.is_loss && losses_++ == kLossesMax) {
    return Fail(CompletionStatus::kLocalProtectionError, 0, step);
  }
  ++page_waits_;
  wait_ = FaultTicket(kReceiverTickets | ++tickets_);
  step.outbox.RequestPages({.qp = config_.local_qp, .ticket = *wait_, .fault = fault});
}

void ByteReceiver::Complete(Step& step) {
  Completion completion;
  completion.opcode = CompletionOpcode::kReceive;
  completion.byte_count = static_cast<uint32_t>(receive_.filled());
  // A stream has no solicited messages: a program that waits for those alone is woken by each.
  if (receive_.Finish(completion, true, step)) return;
  step.outbox.Raise({AsyncEventType::kQpFatal, config_.local_qp});
  has_failed_ = true;
}

void ByteReceiver::Fail(CompletionStatus status, VendorError check, Step& step) {
  receive_.Finish(status, step, check);
  has_failed_ = true;
}

void ByteReceiver::CompleteEnded(Step& step) {
  while (peer_has_ended_ && !has_failed_ && receive_.Take(step)) {
    end_was_reported_ = end_was_reported_ || (receive_.filled() == 0 && receive_.room() > 0);
    Complete(step);
  }
}

void ByteReceiver::OnPagesReady(FaultTicket ticket, bool available, Step& step) {
  if (wait_ != ticket) return;
  wait_.reset();
  if (!available) Fail(CompletionStatus::kLocalProtectionError, 0, step);
}

void ByteReceiver::Flush(Step& step) {
  receive_.Flush(step);
  wait_.reset();
  waits_for_request_ = false;
}

}  // namespace verbena::transport
