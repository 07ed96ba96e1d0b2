#include "transport/iwarp/byte_sender.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "queue/sge_cursor.h"
#include "transport/common/complete.h"

namespace verbena::transport {
namespace {

using queue::SendOpcode;
using queue::WqeNumber;

// A piece is contiguous in the send buffer, which holds several of them.
constexpr size_t kPieceMax = size_t{32} << 10;
constexpr size_t kPiecesPerBuffer = 4;

// The others have a peer that knows messages, or memory of it.
bool IsOffered(SendOpcode opcode) {
  return opcode == SendOpcode::kSend || queue::PropertiesOf(opcode).is_local;
}

}  // namespace

ByteSender::ByteSender(const StreamQpConfig& config, queue::SendQueue& queue,
                       queue::CompletionQueue& cq)
    : config_(config),
      queue_(queue),
      cq_(cq),
      local_work_(queue),
      ends_(std::bit_ceil(uint64_t{queue.limits().capacity} + 1)),
      mask_(ends_.size() - 1),
      position_(queue.begin()) {}

void ByteSender::Start() {
  CHECK(!is_begun_);
  put_ = offset_ = 0;
  position_ = queue_.begin();
  failure_.reset();
  wait_.reset();
  end_.reset();
  delayed_until_ = Time::Never();
  end_is_sent_ = wants_room_ = is_cut_ = has_failed_ = had_sqd_failure_ = false;
}

void ByteSender::Pump(SendBuffer& out, bool may_begin, Step& step) {
  wants_room_ = false;
  while (!failure_ && !wait_ && position_ < queue_.end()) {
    if (!is_begun_ && !(may_begin && Begin(step))) return;
    if (is_begun_ && !PutPiece(out, step)) return;
  }
}

LocalOutcome ByteSender::CheckElement(WqeNumber n) const {
  const SendOpcode opcode = queue_.At(n).opcode;
  const bool is_behind_end = end_.has_value() && opcode == SendOpcode::kSend;
  if (!IsOffered(opcode) || is_behind_end) return {CompletionStatus::kLocalQpOperationError};
  if (queue_.LengthAt(n) > kMessageMax) return {CompletionStatus::kLocalLengthError};
  return {};
}

// Executes the local part of the element at position_, which is then begun, or complete if it is
// local. False if it may not be started now, or has failed.
bool ByteSender::Begin(Step& step) {
  if (had_sqd_failure_ || delayed_until_ != Time::Never()) return false;
  const queue::SendWqe& wqe = queue_.At(position_);
  LocalOutcome outcome = CheckElement(position_);
  if (outcome.status == CompletionStatus::kSuccess) {
    outcome = local_work_.Execute(position_, config_.registration, config_.who, step);
  }
  if (outcome.status != CompletionStatus::kSuccess) {
    failure_ = Failure{outcome, queue::PropertiesOf(wqe.opcode).registers};
    return false;
  }
  if (wqe.opcode == SendOpcode::kDelay) {
    delayed_until_ = step.now + wqe.As<queue::DelayOperand>().duration;
  }
  losses_ = 0;
  offset_ = 0;
  is_begun_ = true;
  if (queue::PropertiesOf(wqe.opcode).is_local) EndElement();
  return true;
}

// Copies the next bytes of the element. False if there is no room, or they are not available.
bool ByteSender::PutPiece(SendBuffer& out, Step& step) {
  const uint64_t left = queue_.LengthAt(position_) - offset_;
  if (left == 0) {
    end_ = position_;
    EndElement();
    return true;
  }
  const size_t piece_max = std::clamp<size_t>(out.capacity() / kPiecesPerBuffer, 1, kPieceMax);
  const std::span<std::byte> piece = out.Reserve(std::min<uint64_t>(left, piece_max));
  if (piece.empty()) {
    wants_room_ = true;
    return false;
  }
  if (!Fill(piece, step)) return false;
  out.Commit(piece.size());
  put_ += piece.size();
  offset_ += piece.size();
  if (piece.size() == left) EndElement();
  return true;
}

bool ByteSender::Fill(std::span<std::byte> piece, Step& step) {
  if (const auto inlined = queue_.InlineAt(position_); !inlined.empty()) {
    std::memcpy(piece.data(), &inlined[offset_], piece.size());
    return true;
  }
  queue::SgeCursor cursor(queue_.SgesAt(position_));
  cursor.Seek(offset_);
  const Placement found =
      GatherInto(cursor, piece, queue_.LengthAt(position_) - offset_, config_.who, step.memory);
  if (std::holds_alternative<Placed>(found)) return true;
  if (const auto* const fault = std::get_if<memory::Fault>(&found)) {
    WaitFor(*fault, step);
  } else {
    const VendorError check = CountRefusal(std::get<NakReason>(found), step.refusals);
    failure_ = Failure{{CompletionStatus::kLocalProtectionError, check}};
  }
  return false;
}

void ByteSender::WaitFor(const memory::Fault& fault, Step& step) {
  if (fault.is_loss && losses_++ >= kLossesMax) {
    failure_ = Failure{{CompletionStatus::kLocalProtectionError}};
    return;
  }
  ++page_waits_;
  wait_ = FaultTicket(++tickets_);
  step.outbox.RequestPages({.qp = config_.local_qp, .ticket = *wait_, .fault = fault});
}

void ByteSender::EndElement() {
  EndOf(position_) = put_;
  position_ = Next(position_);
  is_begun_ = false;
  offset_ = 0;
}

void ByteSender::CompleteDone(uint64_t unsent, Step& step) {
  CHECK(unsent <= put_);
  const uint64_t taken = put_ - unsent;
  while (queue_.begin() < position_ && !has_failed_) {
    const WqeNumber n = queue_.begin();
    if (EndOf(n) > taken || (n == end_ && !end_is_sent_)) return;
    CompleteFront({}, step);
  }
  if (failure_ && !has_failed_) CompleteFailed(step);
}

// IBA 11.6.3.1: a completion that finds no room is lost, and the queue pair goes into error.
void ByteSender::CompleteFront(const LocalOutcome& outcome, Step& step) {
  const auto bytes = static_cast<uint32_t>(queue_.LengthAt(queue_.begin()));
  if (CompleteOldest(queue_, outcome, bytes, config_.local_qp, cq_, step)) return;
  if (!has_failed_) step.outbox.Raise({AsyncEventType::kQpFatal, config_.local_qp});
  has_failed_ = true;
}

// Row B3, as in IwarpRequester: a failed registration need not end the stream.
void ByteSender::CompleteFailed(Step& step) {
  const Failure failure = *std::exchange(failure_, std::nullopt);
  CompleteFront(failure.outcome, step);
  Abandon();
  if (failure.is_registration && config_.registration == RegistrationMode::kReactive &&
      !has_failed_) {
    FlushQueue(step);
    had_sqd_failure_ = true;
  } else {
    has_failed_ = true;
  }
}

void ByteSender::OnPagesReady(FaultTicket ticket, bool available) {
  if (wait_ != ticket) return;
  wait_.reset();
  if (!available) failure_ = Failure{{CompletionStatus::kLocalProtectionError}};
}

// An element that has failed behind others keeps its status.
void ByteSender::FlushQueue(Step& step) {
  for (WqeNumber n = queue_.begin(); n < queue_.end(); n = Next(n)) {
    const bool is_failed = failure_ && n == position_;
    CompleteFront(is_failed ? failure_->outcome : LocalOutcome{CompletionStatus::kFlushed}, step);
  }
  failure_.reset();
  Abandon();
}

// The element at position_ was completed.
void ByteSender::Abandon() {
  is_cut_ = is_mid_send();
  position_ = queue_.begin();
  is_begun_ = false;
  offset_ = 0;
}

void ByteSender::FlushPosted(Step& step) {
  CHECK(is_drained());
  FlushQueue(step);
}

void ByteSender::Flush(Step& step) {
  FlushQueue(step);
  has_failed_ = true;
  wants_room_ = false;
  wait_.reset();
  delayed_until_ = Time::Never();
}

bool ByteSender::IsConsistent() const {
  if (position_ < queue_.begin() || position_ > queue_.end()) return false;
  return is_begun_ || offset_ == 0;
}

}  // namespace verbena::transport
