#include "transport/rc/requester.h"

#include <algorithm>

#include "base/check.h"
#include "queue/sge_cursor.h"
#include "transport/common/message_opcode.h"
#include "transport/common/placement.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/feth.h"
#include "wire/roce/ieth.h"
#include "wire/roce/immdt.h"
#include "wire/roce/reth.h"
#include "wire/roce/xrceth.h"

namespace verbena::transport {
namespace {
using queue::SendOpcode;
using queue::WqeNumber;

// IBA 9.7.4.2: the sequence numbers of outstanding packets must stay within half of their circle.
// The longest message of the smallest packets fills it.
constexpr uint32_t kPsnHalf = 1u << 23;
// The last packet of each message requests an acknowledgement, and in long messages one in this
// many.
constexpr uint32_t kAckRequestEvery = 32;

wire::Reth RethOf(const RemoteAddress& remote, uint64_t skipped, uint64_t length) {
  return {.address = KeyAddress(remote.address + skipped),
          .r_key = remote.key,
          .dma_length = static_cast<uint32_t>(length)};
}

wire::Feth FethOf(const queue::FlushOperand& flush) {
  const unsigned placement = (flush.global_visibility ? wire::Feth::kGlobalVisibility : 0u) |
                             (flush.persistence ? wire::Feth::kPersistence : 0u);
  const bool is_range = flush.level == FlushLevel::kRange;
  return {.placement = static_cast<uint8_t>(placement),
          .selectivity = is_range ? wire::Feth::kRange : wire::Feth::kWholeRegion};
}

wire::AtomicEth AtomicEthOf(const queue::Atomic& atomic, bool swaps) {
  return {.address = KeyAddress(atomic.remote.address),
          .r_key = atomic.remote.key,
          .swap_or_add = swaps ? atomic.swap : atomic.compare_or_add,
          .compare = swaps ? atomic.compare_or_add : 0};
}

// The headers after the BTH that the opcode requires, for `length` bytes of the remote range from
// `skipped` on.
void AddExtensions(const queue::SendWqe& wqe, const wire::OpcodeInfo& info, uint64_t skipped,
                   uint64_t length, wire::PacketBuilder& builder) {
  if (info.Has(wire::Extension::kXrceth)) {
    builder.Add(wire::Xrceth{.srq = wqe.remote_srq});
  }
  if (const auto* flush = std::get_if<queue::FlushOperand>(&wqe.operand)) {
    builder.Add(RethOf(flush->remote, 0, flush->length));
    builder.Add(FethOf(*flush));
  } else if (info.Has(wire::Extension::kReth)) {
    builder.Add(RethOf(wqe.As<RemoteAddress>(), skipped, length));
  }
  if (info.Has(wire::Extension::kAtomicEth)) {
    const bool swaps = wqe.opcode == SendOpcode::kCompareAndSwap;
    builder.Add(AtomicEthOf(wqe.As<queue::Atomic>(), swaps));
  }
  if (info.has_immediate()) builder.Add(wire::ImmDt{.data = wqe.immediate.value()});
  if (info.has_invalidate()) builder.Add(wire::Ieth{.r_key = wqe.invalidate});
}

uint32_t PacketsFor(uint64_t length, uint32_t path_mtu) {
  if (length <= path_mtu) return 1;
  return static_cast<uint32_t>((length + path_mtu - 1) / path_mtu);
}

}  // namespace

Requester::Requester(const RcConfig& config, queue::SendQueue& queue, queue::CompletionQueue& cq,
                     TagRendezvous* rendezvous)
    : config_(config),
      queue_(queue),
      cq_(cq),
      rendezvous_(rendezvous),
      outstanding_(queue.limits().capacity),
      local_work_(queue),
      retry_(config.ack_timeout, config.retry_count, config.rnr_retry) {
  CHECK(config.path_mtu <= OutPacket::kPayloadMax);
}

void Requester::Start(Psn first) {
  CHECK(outstanding_.empty());
  outstanding_.Reset(queue_.begin());
  position_ = {queue_.begin(), 0};
  next_psn_ = unacked_ = sent_end_ = first;
  retry_ = RetryState(config_.ack_timeout, config_.retry_count, config_.rnr_retry);
  window_ = {};
  probe_ = {};
  recovering_.reset();
  dropped_until_.reset();
  reads_under_way_ = 0;
  is_blocked_ = has_failed_ = had_sqd_failure_ = failed_to_register_ = false;
}

void Requester::Resume() {
  if (is_drained())
    retry_ = RetryState(config_.ack_timeout, config_.retry_count, config_.rnr_retry);
}

bool Requester::MaySend() const {
  return !has_failed_ && !is_stalled() && !retry_.is_waiting() && !is_delayed();
}

bool Requester::Pump(Step& step, bool may_begin, size_t held_room) {
  const WqeNumber end = queue_.end();
  if (MaySend()) {
    const size_t already = step.outbox.packets().size();
    while (step.outbox.room() > held_room && position_.wqe < end) {
      if (position_.wqe == outstanding_.end() && !(may_begin && StartNext(step))) break;
      if (SendNext(step) == SendOutcome::kBlocked) break;
    }
    if (probe_.is_single()) [[unlikely]] {
      step.outbox.MakeSingle(already);
    }
    probe_.OnSent(step.outbox.packets().subspan(already));
  }
  CompleteDone(step);
  const bool waits = retry_.is_waiting() || is_stalled();
  if (!waits && !retry_.timer_runs() && sent_end_ != unacked_) retry_.StartTimer(step.now);
  return step.outbox.room() <= held_room && !waits && !has_failed_ && position_.wqe < queue_.end();
}

bool Requester::MayStart(const queue::SendWqe& wqe) const {
  if (is_blocked_ || had_sqd_failure_ || is_delayed()) return false;
  // IBA C9-25: a fenced element waits for the reads and atomics before it.
  if (wqe.flags.fence && reads_under_way_ > 0) return false;
  if (reads_under_way_ >= config_.max_rd_atomic && PropertiesOf(wqe.opcode).needs_response) {
    return false;
  }
  // A key must not be invalidated while packets that use it may have to be retransmitted.
  return wqe.opcode != SendOpcode::kLocalInvalidate || unacked_ == next_psn_;
}

// Assigns sequence numbers to the next element, and executes its local part. False if it may not be
// started yet.
bool Requester::StartNext(Step& step) {
  const WqeNumber n = outstanding_.end();
  const queue::SendWqe& wqe = queue_.At(n);
  if (!MayStart(wqe)) return false;
  const queue::SendProperties& properties = queue::PropertiesOf(wqe.opcode);
  const uint64_t length = queue_.LengthAt(n);
  const uint32_t psn_count = properties.is_local ? 0 : PacketsFor(length, config_.path_mtu);
  if (UnderWay(next_psn_ + psn_count) > kPsnHalf) return false;

  OutstandingRequest& outstanding =
      outstanding_.Start({.first_psn = next_psn_,
                          .psn_count = psn_count,
                          .needs_response = properties.needs_response,
                          .is_done = properties.is_local,
                          .byte_count = static_cast<uint32_t>(length)});
  if (!properties.is_plain || length > kMessageMax || config_.type != QpType::kRc) {
    const LocalOutcome done = DoLocalPart(n, step);
    outstanding.status = done.status;
    outstanding.vendor_error = done.vendor_error;
  }
  if (outstanding.status != CompletionStatus::kSuccess) [[unlikely]] {
    is_blocked_ = true;
    outstanding.is_done = true;
    outstanding.needs_response = false;
    outstanding.psn_count = 0;
  }
  next_psn_ = outstanding.end_psn();
  reads_under_way_ += outstanding.needs_response ? 1 : 0;
  return true;
}

// The part that needs no peer.
LocalOutcome Requester::DoLocalPart(WqeNumber n, Step& step) {
  const queue::SendWqe& wqe = queue_.At(n);
  const queue::SendProperties& properties = queue::PropertiesOf(wqe.opcode);
  if (properties.is_word && queue_.LengthAt(n) != queue::kAtomicBytes) {
    return {CompletionStatus::kLocalLengthError};
  }
  if (queue_.LengthAt(n) > kMessageMax) return {CompletionStatus::kLocalLengthError};
  const bool is_offered =
      properties.is_local || FindOpcode(config_.service(), wqe.opcode, wire::Position::kOnly);
  if (!is_offered) return {CompletionStatus::kLocalQpOperationError};
  if (wqe.opcode == SendOpcode::kDelay) {
    delayed_until_ = step.now + wqe.As<queue::DelayOperand>().duration;
  }
  return local_work_.Execute(n, config_.registration, config_.who, step);
}

// Sends the packet at position_ and advances, or skips an element without packets.
Requester::SendOutcome Requester::SendNext(Step& step) {
  const WqeNumber n = position_.wqe;
  const OutstandingRequest& outstanding = outstanding_.At(n);
  if (outstanding.is_done) {
    position_ = {Next(n), 0};
    return SendOutcome::kPassed;
  }
  const Psn psn = outstanding.first_psn + position_.packet;
  if (UnderWay(psn) >= window_.packets()) return SendOutcome::kBlocked;
  const uint32_t psns = outstanding.needs_response ? ReadWindow(outstanding, psn) : 1;
  if (psns == 0 || !BuildPacket(step, n, outstanding, psn, psns)) return SendOutcome::kBlocked;

  position_.packet += psns;
  const Psn end = outstanding.first_psn + position_.packet;
  if (IsBefore(sent_end_, end)) sent_end_ = end;
  if (position_.packet == outstanding.psn_count) position_ = {Next(n), 0};
  return SendOutcome::kSent;
}

// The number of response packets that the next request of a read asks for. One request could ask
// for all, but then the requester could not limit the rate of the peer. So a long read is sent as
// several requests of a window each, the next one when the responses to the last have arrived. A
// request that is retransmitted ends where it did before, so that the peer recognizes it.
uint32_t Requester::ReadWindow(const OutstandingRequest& outstanding, Psn psn) const {
  if (IsBefore(psn, sent_end_)) {
    return std::min(outstanding.psn_count - position_.packet, UnderWay(sent_end_) - UnderWay(psn));
  }
  if (outstanding.responses < position_.packet) return 0;
  return std::min(outstanding.psn_count - position_.packet, window_.packets());
}

// `psns`: how many sequence numbers the packet takes.
bool Requester::BuildPacket(Step& step, WqeNumber n, const OutstandingRequest& outstanding, Psn psn,
                            uint32_t psns) {
  const queue::SendWqe& wqe = queue_.At(n);
  const queue::SendProperties& properties = queue::PropertiesOf(wqe.opcode);
  const uint64_t length = queue_.LengthAt(n);
  const uint64_t offset = uint64_t{position_.packet} * config_.path_mtu;
  const wire::Position position = outstanding.needs_response
                                      ? wire::Position::kOnly
                                      : PositionOf(position_.packet, outstanding.psn_count);
  const wire::OpcodeInfo* const row = FindOpcode(config_.service(), wqe.opcode, position);
  CHECK(row != nullptr);  // else the element failed when it was started
  const wire::OpcodeInfo& info = *row;
  const uint32_t size =
      properties.carries_payload
          ? static_cast<uint32_t>(std::min<uint64_t>(config_.path_mtu, length - offset))
          : 0;

  OutPacket& packet = step.outbox.AddPacket();
  packet.path = config_.path;
  packet.source_qp = config_.local_qp;
  packet.payload_size = size;
  if (size > 0 && !GatherPayload(step, n, offset, size, packet)) {
    step.outbox.DropLastPacket();
    return false;
  }
  const bool window_full = UnderWay(psn) + 1 >= window_.packets();
  const bool asks = info.ends_message() || window_full || ++since_ack_request_ >= kAckRequestEvery;
  if (asks) since_ack_request_ = 0;
  const wire::Bth bth{.solicited_event = wqe.flags.solicited && info.ends_message(),
                      .p_key = config_.p_key,
                      .dest_qp = config_.remote_qp,
                      .ack_request = asks,
                      .psn = psn};
  wire::PacketBuilder builder(packet.header, info, bth, size);
  // A request of a read names a part of the range; other requests name their whole range, once.
  const uint64_t skipped = outstanding.needs_response ? offset : 0;
  const uint64_t named =
      outstanding.needs_response
          ? std::min<uint64_t>(length - skipped, uint64_t{psns} * config_.path_mtu)
          : length;
  AddExtensions(wqe, info, skipped, named, builder);
  packet.header_size = builder.headers().size();
  return true;
}

// Makes `size` bytes of the message the payload of the packet. False if some are not available: the
// requester waits for pages, or the element has failed.
bool Requester::GatherPayload(Step& step, WqeNumber n, uint64_t offset, uint32_t size,
                              OutPacket& packet) {
  if (const auto inlined = queue_.InlineAt(n); !inlined.empty()) {
    packet.inlined = inlined.subspan(offset, size);
    return true;
  }
  const std::span<const Sge> sges = queue_.SgesAt(n);
  if (sges.size() == 1 && NameSpan(sges[0], offset, size, config_.who, step.memory, packet)) {
    return true;
  }
  queue::SgeCursor cursor(sges);
  cursor.Seek(offset);
  const Placement found = Gather(cursor, size, queue_.LengthAt(n) - offset, config_.who,
                                 step.memory, packet, step.outbox.GatherRoom());
  if (std::holds_alternative<Placed>(found)) return true;
  const Psn psn = outstanding_.At(n).first_psn + position_.packet;
  if (const auto* fault = std::get_if<memory::Fault>(&found)) {
    gather_stall_ = StallFor(*fault, psn, step);
  } else {
    FailAt(psn, CompletionStatus::kLocalProtectionError, step,
           CountRefusal(std::get<NakReason>(found), step.refusals));
  }
  return false;
}

// nullopt if the element has lost pages too often.
std::optional<Requester::Stall> Requester::StallFor(const memory::Fault& fault, Psn psn,
                                                    Step& step) {
  if (fault.is_loss && !MayLose(psn, step)) return std::nullopt;
  ++counters_.page_waits;
  retry_.StopTimer();  // the peer is not late: this side waits for its own pages
  const Stall stall{FaultTicket(next_ticket_++), psn};
  step.outbox.RequestPages({config_.local_qp, stall.ticket, fault});
  return stall;
}

// Counts a page that the element has lost. The element fails if there are too many.
bool Requester::MayLose(Psn psn, Step& step) {
  const auto n = outstanding_.Find(psn);
  CHECK(n.has_value());
  if (outstanding_.At(*n).losses++ < kLossesMax) return true;
  FailAt(psn, CompletionStatus::kLocalProtectionError, step);
  return false;
}

void Requester::TakeBack(Psn psn, bool is_loss, Step& step) {
  // The element may have ended in the same step, because the connection failed.
  if (!outstanding_.Find(psn).has_value()) return;
  if (is_loss && !MayLose(psn, step)) return;
  const bool is_ahead =
      position_.wqe < outstanding_.end() &&
      UnderWay(outstanding_.At(position_.wqe).first_psn + position_.packet) <= UnderWay(psn);
  if (!is_ahead) Rewind(psn);
}

void Requester::OnPagesReady(FaultTicket ticket, bool available, Step& step) {
  const bool to_send = gather_stall_.has_value() && gather_stall_->ticket == ticket;
  const bool to_place = scatter_stall_.has_value() && scatter_stall_->ticket == ticket;
  if (!to_send && !to_place) return;
  std::optional<Stall>& stall = to_send ? gather_stall_ : scatter_stall_;
  const Psn psn = stall->psn;
  stall.reset();
  if (!available) {
    // The element may have ended by a late acknowledgement: then nothing is missing.
    if (outstanding_.Find(psn).has_value()) {
      FailAt(psn, CompletionStatus::kLocalProtectionError, step);
    }
    return;
  }
  if (!to_place) return;
  // The response for which there was no memory was dropped, and those after it. They are requested
  // again. Responses to the earlier requests are not counted as a loss, which would cost a retry.
  Rewind(psn);
  recovering_ = psn;
  dropped_until_ = sent_end_;
}

Time Requester::next_time() const { return std::min(retry_.next(), delayed_until_); }

void Requester::OnTime(Step& step) {
  if (delayed_until_ <= step.now) delayed_until_ = Time::Never();
  if (retry_.resume_at() <= step.now) retry_.StopWaiting();
  if (retry_.deadline() <= step.now) {
    ++counters_.timeouts;
    retry_.OnTimeout(step.now);
    recovering_.reset();
    dropped_until_.reset();
    probe_.OnTimeout(unacked_, sent_end_);
    RetransmitFrom(unacked_, step);
  }
}

void Requester::FlushPosted(Step& step) {
  CHECK(is_drained());
  FlushQueue(step);
}

void Requester::Flush(Step& step) {
  FlushQueue(step);
  has_failed_ = true;
  gather_stall_.reset();
  scatter_stall_.reset();
  retry_.StopTimer();
  retry_.StopWaiting();
  delayed_until_ = Time::Never();
}

bool Requester::IsConsistent() const {
  if (!outstanding_.IsConsistent()) return false;
  uint32_t reads = 0;
  for (WqeNumber n = outstanding_.begin(); n < outstanding_.end(); n = Next(n)) {
    reads += outstanding_.At(n).needs_response && !outstanding_.At(n).is_done ? 1 : 0;
  }
  return has_failed_ || (reads == reads_under_way_ && UnderWay(sent_end_) <= kPsnHalf &&
                         !IsBefore(next_psn_, sent_end_));
}

}  // namespace verbena::transport
