#include "transport/common/unreliable_sender.h"

#include <algorithm>

#include "base/check.h"
#include "queue/sge_cursor.h"
#include "transport/common/complete.h"
#include "transport/common/message_opcode.h"
#include "transport/common/placement.h"
#include "wire/roce/immdt.h"
#include "wire/roce/packet.h"
#include "wire/roce/reth.h"

namespace verbena::transport {
using queue::SendOpcode;
using queue::WqeNumber;

namespace {

// IBA 10.2.5 and 3.5.3: a Q_Key with this bit set means the Q_Key of the queue pair.
constexpr uint32_t kOwnQKey = uint32_t{1} << 31;

}  // namespace

UnreliableSender::UnreliableSender(const SenderConfig& config, queue::SendQueue& queue,
                                   queue::CompletionQueue& cq)
    : config_(config),
      queue_(queue),
      cq_(cq),
      local_work_(queue),
      position_{.wqe = queue.begin()},
      begun_(queue.begin()) {
  CHECK(config.path_mtu <= OutPacket::kPayloadMax);
}

wire::Service UnreliableSender::service() const {
  return std::holds_alternative<ConnectedPeer>(config_.peers) ? wire::Service::kUc
                                                              : wire::Service::kUd;
}

void UnreliableSender::Configure(const SenderConfig& config) {
  CHECK(config.local_qp == config_.local_qp && config.peers.index() == config_.peers.index());
  CHECK(config.path_mtu <= OutPacket::kPayloadMax);
  config_ = config;
}

bool UnreliableSender::CanGoOn(bool may_begin) const {
  return (may_begin || has_begun()) && !has_failed_ && !failure_ && !stall_ &&
         delayed_until_ == Time::Never() && position_.wqe < queue_.end();
}

void UnreliableSender::Pump(Step& step, bool may_begin) {
  CompleteSent(step);
  while (CanGoOn(may_begin) && step.outbox.room() > 0 && Advance(step)) {
  }
  CompleteFailed(step);
  DCHECK(IsConsistent());
}

bool UnreliableSender::wants_step(bool may_begin) const {
  return queue_.begin() < position_.wqe || failure_.has_value() || CanGoOn(may_begin);
}

uint32_t UnreliableSender::PacketCountAt(WqeNumber n) const {
  if (queue::PropertiesOf(queue_.At(n).opcode).is_local) return 0;
  return PsnCountOf(static_cast<uint32_t>(queue_.LengthAt(n)), config_.path_mtu);
}

// Sends one packet, or executes one element without packets. False if it must stop.
bool UnreliableSender::Advance(Step& step) {
  const queue::SendWqe& wqe = queue_.At(position_.wqe);
  // Only once per element, although it may wait for pages or be taken back: a registration must not
  // be executed twice.
  if (!has_begun()) {
    const LocalOutcome begun = Begin(wqe, step);
    if (begun.status != Status::kSuccess) {
      failure_ = begun;
      failed_to_register_ = queue::PropertiesOf(wqe.opcode).registers;
      return false;
    }
    begun_ = Next(position_.wqe);
  }
  const uint32_t count = PacketCountAt(position_.wqe);
  if (count > 0) {
    if (!SendPacket(count, step)) return false;
    ++position_.packet;
  }
  if (position_.packet == count) position_ = {.wqe = Next(position_.wqe)};
  return true;
}

// The checks before the first packet of an element, and its local part.
LocalOutcome UnreliableSender::Begin(const queue::SendWqe& wqe, Step& step) {
  const queue::SendProperties& properties = queue::PropertiesOf(wqe.opcode);
  const bool is_datagram = service() == wire::Service::kUd;
  // The destination is resolved for each packet, because a handle may be destroyed while pages are
  // paged in.
  const bool is_addressed = std::holds_alternative<Datagram>(wqe.operand) == is_datagram;
  const bool has_packets =
      properties.is_local || FindOpcode(service(), wqe.opcode, wire::Position::kOnly) != nullptr;
  if (!is_addressed || !has_packets) return {Status::kLocalQpOperationError};

  // A datagram is one packet.
  const uint64_t length_max = is_datagram ? config_.path_mtu : kMessageMax;
  if (queue_.LengthAt(position_.wqe) > length_max) return {Status::kLocalLengthError};

  if (wqe.opcode == SendOpcode::kDelay) {
    delayed_until_ = step.now + wqe.As<queue::DelayOperand>().duration;
  }
  return local_work_.Execute(position_.wqe, config_.registration, config_.who, step);
}

// nullopt if the request names no destination that this queue pair can reach.
std::optional<UnreliableSender::Destination> UnreliableSender::DestinationOf(
    const queue::SendWqe& wqe) const {
  if (const auto* const peer = std::get_if<ConnectedPeer>(&config_.peers)) {
    return Destination{.qp = peer->qp, .path = peer->path, .deth = {}};
  }
  const auto& peers = std::get<DatagramPeers>(config_.peers);
  const auto* const datagram = std::get_if<Datagram>(&wqe.operand);
  if (datagram == nullptr || datagram->qp.value() > wire::kMax24) return std::nullopt;
  const auto way = peers.handles->Find(datagram->handle, config_.who.pd);
  if (!way) return std::nullopt;
  const uint32_t q_key = datagram->q_key.value();
  const wire::Deth deth{.q_key = (q_key & kOwnQKey) != 0 ? peers.q_key : QKey(q_key),
                        .source_qp = config_.local_qp};
  return Destination{
      .qp = datagram->qp, .path = way->path, .deth = deth, .payload_max = way->payload_max};
}

// Sends the packet at position_, of `count` packets.
bool UnreliableSender::SendPacket(uint32_t count, Step& step) {
  const queue::SendWqe& wqe = queue_.At(position_.wqe);
  const auto to = DestinationOf(wqe);
  if (!to) {
    failure_ = LocalOutcome{Status::kLocalQpOperationError};
    return false;
  }
  // IBA 10.2.5.1: a datagram is one packet, and must fit the path.
  if (to->deth && queue_.LengthAt(position_.wqe) > to->payload_max) {
    failure_ = LocalOutcome{Status::kLocalLengthError};
    return false;
  }
  const wire::OpcodeInfo* const info =
      FindOpcode(service(), wqe.opcode, PositionOf(position_.packet, count));
  CHECK(info != nullptr);
  const uint64_t offset = uint64_t{position_.packet} * config_.path_mtu;
  const uint64_t left = queue_.LengthAt(position_.wqe) - offset;
  OutPacket& packet = step.outbox.AddPacket();
  packet.path = to->path;
  packet.source_qp = config_.local_qp;
  packet.payload_size = static_cast<uint32_t>(std::min<uint64_t>(config_.path_mtu, left));
  if (!GatherPayload(offset, packet.payload_size, packet, step)) {
    step.outbox.DropLastPacket();
    return false;
  }
  WriteHeaders(*info, *to, packet);
  ++next_psn_;
  return true;
}

// False if some bytes are not available: the sender waits for pages, or the element has failed.
bool UnreliableSender::GatherPayload(uint64_t offset, uint32_t size, OutPacket& packet,
                                     Step& step) {
  const WqeNumber n = position_.wqe;
  if (size == 0) return true;
  if (const auto inlined = queue_.InlineAt(n); !inlined.empty()) {
    packet.inlined = inlined.subspan(offset, size);
    return true;
  }
  queue::SgeCursor cursor(queue_.SgesAt(n));
  cursor.Seek(offset);
  const Placement found = Gather(cursor, size, queue_.LengthAt(n) - offset, config_.who,
                                 step.memory, packet, step.outbox.GatherRoom());
  if (std::holds_alternative<Placed>(found)) return true;
  const auto* const fault = std::get_if<memory::Fault>(&found);
  if (fault != nullptr && (!fault->is_loss || MayLose())) {
    stall_ = FaultTicket(++tickets_);
    step.outbox.RequestPages(
        {.qp = config_.local_qp, .ticket = *stall_, .fault = *fault, .is_urgent = true});
  } else {
    const auto* const reason = std::get_if<NakReason>(&found);
    failure_ =
        LocalOutcome{Status::kLocalProtectionError,
                     reason != nullptr ? CountRefusal(*reason, step.refusals) : VendorError{0}};
  }
  return false;
}

void UnreliableSender::WriteHeaders(const wire::OpcodeInfo& info, const Destination& to,
                                    OutPacket& packet) const {
  const queue::SendWqe& wqe = queue_.At(position_.wqe);
  const wire::Bth bth{.opcode = info.opcode,
                      .solicited_event = wqe.flags.solicited && info.ends_message(),
                      .p_key = config_.p_key,
                      .dest_qp = to.qp,
                      .psn = next_psn_};
  wire::PacketBuilder builder(packet.header, bth, packet.payload_size);
  if (to.deth) builder.Add(*to.deth);
  if (info.Has(wire::Extension::kReth)) {
    const auto& remote = wqe.As<RemoteAddress>();
    builder.Add(wire::Reth{.address = KeyAddress(remote.address),
                           .r_key = remote.key,
                           .dma_length = static_cast<uint32_t>(queue_.LengthAt(position_.wqe))});
  }
  if (info.has_immediate()) builder.Add(wire::ImmDt{.data = wqe.immediate.value()});
  packet.header_size = builder.headers().size();
}

void UnreliableSender::OnTime(Step& step) {
  if (delayed_until_ <= step.now) delayed_until_ = Time::Never();
}

void UnreliableSender::OnPagesReady(FaultTicket ticket, bool available) {
  if (stall_ != ticket) return;
  stall_.reset();
  if (!available) failure_ = LocalOutcome{Status::kLocalProtectionError};
}

void UnreliableSender::TakeBack(Psn psn, bool is_loss) {
  // A packet after one that was taken back is already in the part that is sent again.
  if (IsBefore(psn, next_psn_)) Rewind(psn);
  if (is_loss && !MayLose()) failure_ = LocalOutcome{Status::kLocalProtectionError};
  DCHECK(IsConsistent());
}

// Elements after it that wait or have failed will do so again.
void UnreliableSender::Rewind(Psn psn) {
  auto count = static_cast<uint32_t>(Distance(psn, next_psn_));
  while (position_.packet < count) {
    count -= position_.packet;
    CHECK(queue_.begin() < position_.wqe);  // else the element has completed
    const WqeNumber before(position_.wqe.value() - 1);
    position_ = {.wqe = before, .packet = PacketCountAt(before)};
  }
  position_.packet -= count;
  next_psn_ = psn;
  stall_.reset();
  failure_.reset();
  failed_to_register_ = false;
}

// The element at position_ has lost a page once more. False if that was too often.
bool UnreliableSender::MayLose() {
  if (losses_.wqe != position_.wqe) losses_ = {.wqe = position_.wqe};
  return losses_.count++ < kLossesMax;
}

void UnreliableSender::BeginAnew() {
  position_ = {.wqe = queue_.begin()};
  begun_ = queue_.begin();
}

void UnreliableSender::Flush(Step& step) {
  CompleteSent(step);
  CompleteFailed(step);
  while (queue_.begin() < queue_.end()) CompleteOldest({Status::kFlushed}, step);
  BeginAnew();
  has_failed_ = true;
  stall_.reset();
  delayed_until_ = Time::Never();
}

void UnreliableSender::CompleteSent(Step& step) {
  while (queue_.begin() < position_.wqe) CompleteOldest({}, step);
}

// Completions are in order: an element that failed waits for those before it.
void UnreliableSender::CompleteFailed(Step& step) {
  if (!failure_ || queue_.begin() < position_.wqe) return;
  CompleteOldest(*failure_, step);
  BeginAnew();
  failure_.reset();
  has_failed_ = true;
}

void UnreliableSender::CompleteOldest(const LocalOutcome& outcome, Step& step) {
  const auto length = static_cast<uint32_t>(queue_.LengthAt(queue_.begin()));
  const uint32_t byte_count = outcome.status == Status::kSuccess ? length : 0;
  if (!transport::CompleteOldest(queue_, outcome, byte_count, config_.local_qp, cq_, step)) {
    FailForLostCompletion(step);
  }
}

// IBA 11.6.3.1: a completion that finds no room is lost, and the queue pair goes into error.
void UnreliableSender::FailForLostCompletion(Step& step) {
  if (has_lost_completion_) return;
  step.outbox.Raise({AsyncEventType::kQpFatal, config_.local_qp});
  has_lost_completion_ = has_failed_ = true;
}

bool UnreliableSender::IsConsistent() const {
  if (position_.wqe < queue_.begin() || queue_.end() < position_.wqe) return false;
  if (stall_ && failure_) return false;
  if (begun_ < position_.wqe || queue_.end() < begun_) return false;
  return position_.packet == 0 || has_begun();
}

}  // namespace verbena::transport
