#include "transport/iwarp/ddp_session.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "wire/iwarp/mpa_fpdu.h"

namespace verbena::transport {

using wire::DdpFunction;
using wire::DdpProtocol;
using wire::DdpSequence;
using wire::DdpSessionControl;
using wire::DdpSsn;
using wire::FpduHeader;

// A record is its length and the segment, a message its number and the segment.
static_assert(FpduHeader::kSize == DdpSequence::kSize);

namespace {

DdpSsn SsnOf(uint64_t number) { return DdpSsn(static_cast<uint32_t>(number)); }

bool IsSetupOf(DdpRole sender, DdpFunction function) {
  const bool initiates =
      function == DdpFunction::kInitiate || function == DdpFunction::kEnhancedInitiate;
  return initiates == (sender == DdpRole::kInitiator);
}

}  // namespace

std::optional<DdpSession::Outbound> DdpSession::Make(std::span<const std::byte> bytes) {
  if (next_sent_ == 0) {
    const auto control = ControlOf(bytes, SsnOf(0));
    if (!control) return std::nullopt;
    control_ = *control;
    const auto frame = wire::MpaRequest::Parse(bytes);
    has_rejected_ = frame->rejects;
    return Outbound{.protocol = DdpProtocol::kSessionControl,
                    .message = control_.view(),
                    .taken = wire::MpaRequest::kSize + frame->private_data_length};
  }
  const auto header = FpduHeader::Parse(bytes);
  if (!header || has_ended_) return std::nullopt;
  const size_t size = FpduHeader::kSize + header->ulpdu_length;
  if (size > bytes.size()) return std::nullopt;
  segment_.assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
  DdpSequence{SsnOf(next_sent_)}.Serialize(segment_);
  return Outbound{.protocol = DdpProtocol::kSegment, .message = segment_, .taken = size};
}

std::optional<DdpSession::Outbound> DdpSession::MakeEnd() {
  if (next_sent_ == 0 || has_rejected_ || has_ended_) return std::nullopt;
  DdpSessionControl{.ssn = SsnOf(next_sent_), .function = DdpFunction::kTerminate}.Serialize(
      control_.bytes);
  control_.size = DdpSessionControl::kSize;
  has_ended_ = true;
  return Outbound{.protocol = DdpProtocol::kSessionControl, .message = control_.view()};
}

void DdpSession::Sent() { ++next_sent_; }

// What a message says, whose place in the session is known. nullopt: it may not stand there.
std::optional<DdpSession::Inbound> DdpSession::Read(DdpProtocol protocol, uint64_t number,
                                                    std::span<const std::byte> message) const {
  const DdpRole sender = role_ == DdpRole::kInitiator ? DdpRole::kResponder : DdpRole::kInitiator;
  if (protocol == DdpProtocol::kSegment) {
    const size_t size = message.size() - DdpSequence::kSize;
    if (number == 0 || size == 0 || size > wire::kUlpduMax) return std::nullopt;
    Inbound inbound{.bytes = Bytes(message.begin(), message.end())};
    FpduHeader{.ulpdu_length = static_cast<uint16_t>(size)}.Serialize(inbound.bytes);
    return inbound;
  }
  const auto control = DdpSessionControl::Parse(message);
  if (!control) return std::nullopt;
  if (number > 0) {
    if (control->function != DdpFunction::kTerminate) return std::nullopt;
    return Inbound{.kind = Inbound::Kind::kEnd};
  }
  const auto frame = FrameOf(message);
  if (!frame || !IsSetupOf(sender, control->function)) return std::nullopt;
  const auto view = frame->view();
  return Inbound{.kind = Inbound::Kind::kFrame, .bytes = Bytes(view.begin(), view.end())};
}

bool DdpSession::OnMessage(uint32_t protocol, std::span<const std::byte> message) {
  const bool is_known = protocol == static_cast<uint32_t>(DdpProtocol::kSegment) ||
                        protocol == static_cast<uint32_t>(DdpProtocol::kSessionControl);
  const auto sequence = DdpSequence::Parse(message);
  if (!is_known || !sequence || peer_has_ended_) return false;
  const int32_t ahead = Distance(SsnOf(next_), sequence->ssn);
  if (ahead < 0) return false;
  // An initiator sends nothing behind its request before the reply has come.
  if (ahead > 0 && next_ == 0 && role_ == DdpRole::kResponder) return false;
  if (held_.size() >= kHeldMax || held_bytes_ + message.size() > kHeldBytesMax) return false;
  const uint64_t number = next_ + static_cast<uint64_t>(ahead);
  auto inbound = Read(static_cast<DdpProtocol>(protocol), number, message);
  if (!inbound) return false;
  const size_t size = inbound->bytes.size();
  if (!held_.emplace(number, Held{.inbound = std::move(*inbound)}).second) return false;
  held_bytes_ += size;
  if (ahead > 0) ++arrivals_;
  return true;
}

const DdpSession::Inbound* DdpSession::front() const {
  if (peer_has_ended_ || held_.empty() || held_.begin()->first != next_) return nullptr;
  return &held_.begin()->second.inbound;
}

void DdpSession::Pop() {
  CHECK(front() != nullptr);
  const Inbound& taken = held_.begin()->second.inbound;
  held_bytes_ -= taken.bytes.size();
  peer_has_ended_ = taken.kind == Inbound::Kind::kEnd;
  held_.erase(held_.begin());
  ++next_;
}

}  // namespace verbena::transport
