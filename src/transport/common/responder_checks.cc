#include "transport/common/responder_checks.h"

#include <array>
#include <cstddef>

#include "base/check.h"
#include "queue/wqe.h"

namespace verbena::transport {
namespace {

using wire::Operation;
using wire::Position;

// In the order of Operation: the right that a queue pair must grant for the request.
constexpr std::array kRightsFor = {
    Access::kNone,          // kSend
    Access::kRemoteWrite,   // kWrite
    Access::kRemoteRead,    // kReadRequest
    Access::kNone,          // kReadResponse
    Access::kNone,          // kAcknowledge
    Access::kNone,          // kAtomicAcknowledge
    Access::kRemoteAtomic,  // kCompareSwap
    Access::kRemoteAtomic,  // kFetchAdd
    Access::kNone,          // kResync
    Access::kRemoteWrite,   // kFlush: a peer that may write may also flush
    Access::kRemoteWrite,   // kAtomicWrite
    Access::kNone,          // kCongestionNotification
};
static_assert(kRightsFor.size() == static_cast<size_t>(Operation::kCongestionNotification) + 1);

// The first packet of a write names the length, and the other packets must match it.
bool WriteLengthFits(const wire::Packet& packet, const InboundMessage& message, uint32_t mtu) {
  const size_t size = packet.payload().size();
  const auto reth = packet.Get<wire::Reth>();
  switch (packet.info().position) {
    case Position::kFirst:
      return reth->dma_length > mtu && reth->dma_length <= kMessageMax;
    case Position::kMiddle:
      return size < message.remaining;
    case Position::kLast:
      return size == message.remaining;
    case Position::kOnly:
      return size == reth->dma_length;
  }
  UNREACHABLE();
}

}  // namespace

RemoteRange RangeOf(const wire::Reth& reth) {
  return {.key = reth.r_key, .start = reth.address, .length = reth.dma_length};
}

RemoteRange RangeOf(const wire::AtomicEth& eth) {
  return {.key = eth.r_key, .start = eth.address, .length = queue::kAtomicBytes};
}

PsnPlace PlaceOf(Psn psn, Psn expected) {
  const int32_t distance = Distance(expected, psn);
  if (distance == 0) return PsnPlace::kExpected;
  return distance < 0 ? PsnPlace::kDuplicate : PsnPlace::kAhead;
}

uint32_t PsnCountOf(uint32_t length, uint32_t path_mtu) {
  return length == 0 ? 1 : (length - 1) / path_mtu + 1;
}

// IBA 9.7.4.1: inside a message only its middle and last packets are valid; outside, neither is.
std::optional<NakReason> CheckOpcodeSequence(const wire::OpcodeInfo& info,
                                             const InboundMessage& message) {
  const bool starts = info.starts_message();
  const bool fits = message.is_open ? !starts && info.operation == message.operation : starts;
  if (!fits) return ResponderError::kOpcodeOutOfSequence;
  return std::nullopt;
}

// IBA 9.7.4.1: an operation for which the queue pair is not enabled is an invalid request.
std::optional<NakReason> CheckAllowed(const wire::OpcodeInfo& info, Access remote_rights) {
  if (!remote_rights.Has(kRightsFor[static_cast<size_t>(info.operation)]))
    return ResponderError::kNotAllowedOnQp;
  return std::nullopt;
}

// IBA C9-92: the lengths of packets. C9-94: a DMA length of at most 2^31.
std::optional<NakReason> CheckLength(const wire::Packet& packet, const InboundMessage& message,
                                     uint32_t path_mtu) {
  const wire::OpcodeInfo& info = packet.info();
  bool fits = wire::PayloadFits(info, packet.payload().size(), path_mtu);
  if (fits && info.operation == Operation::kWrite) {
    fits = WriteLengthFits(packet, message, path_mtu);
  } else if (fits && info.operation == Operation::kReadRequest) {
    fits = packet.Get<wire::Reth>()->dma_length <= kMessageMax;
  } else if (fits && info.operation == Operation::kAtomicWrite) {
    const auto reth = packet.Get<wire::Reth>();
    fits = reth->dma_length == queue::kAtomicBytes;
    if (fits && reth->address.value() % queue::kAtomicBytes != 0)
      return ResponderError::kMisaligned;
  }
  if (!fits) return ResponderError::kBadLength;
  return std::nullopt;
}

// IBA 9.7.4.1.5: checked for the whole message when its first packet arrives. C9-88: the R_Key of a
// request without bytes is not checked.
std::optional<NakReason> CheckKey(const RemoteRange& range, memory::AccessKind access,
                                  const memory::Accessor& who, const memory::MemoryCore& memory) {
  if (range.length == 0) return std::nullopt;
  const auto grant = memory.translator.Authorize(range.key, range.start, range.length, access, who);
  if (!grant) return grant.error();
  return std::nullopt;
}

// IBA A19.4.1. Bytes of a write are visible to every processor as soon as they are copied, so
// global visibility needs nothing more. No region supports persistence.
std::optional<NakReason> CheckFlush(const wire::Feth& feth, const RemoteRange& range,
                                    const memory::Accessor& who, const memory::MemoryCore& memory) {
  constexpr uint8_t kDefined = wire::Feth::kGlobalVisibility | wire::Feth::kPersistence;
  const bool is_defined = feth.placement != 0 && (feth.placement & ~kDefined) == 0 &&
                          feth.selectivity <= wire::Feth::kWholeRegion;
  if (!is_defined) return ResponderError::kReservedFlush;

  RemoteRange checked = range;
  if (feth.selectivity == wire::Feth::kWholeRegion) {
    // Only the key counts in this case, so the check is made with its first byte.
    const memory::ProtectionEntry* const entry = memory.table.Find(range.key.index());
    if (entry == nullptr) return memory::Refusal::kNoSuchKey;
    checked.start = KeyAddress(entry->start);
    checked.length = 1;
  }
  if (const auto no = CheckKey(checked, memory::AccessKind::kRemoteWrite, who, memory)) return no;
  if ((feth.placement & wire::Feth::kPersistence) != 0) return ResponderError::kNoPersistence;
  return std::nullopt;
}

}  // namespace verbena::transport
