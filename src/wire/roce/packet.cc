#include "wire/roce/packet.h"

#include <algorithm>

#include "wire/roce/aeth.h"
#include "wire/roce/atomic_ack_eth.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/deth.h"
#include "wire/roce/feth.h"
#include "wire/roce/ieth.h"
#include "wire/roce/immdt.h"
#include "wire/roce/rdeth.h"
#include "wire/roce/reth.h"
#include "wire/roce/xrceth.h"

namespace verbena::wire {
namespace {

const OpcodeInfo& InfoOf(const Bth& bth) {
  const OpcodeInfo* info = FindOpcode(bth.opcode);
  CHECK(info != nullptr);
  return *info;
}

template <class Header>
void Append(const Packet& packet, std::string& text) {
  if (const auto header = packet.Get<Header>()) text += "; " + ToString(*header);
}

}  // namespace

std::optional<Packet> Packet::Parse(std::span<const std::byte> bytes) {
  const auto bth = Bth::Parse(bytes);
  if (!bth) return std::nullopt;
  const OpcodeInfo* info = FindOpcode(bth->opcode);
  if (info == nullptr) return std::nullopt;
  // InfiniBand counts a packet in words of 4 bytes; one that is not whole was cut.
  const std::size_t around_payload = info->header_size + bth->pad_count + kIcrcSize;
  if (bytes.size() < around_payload || bytes.size() % 4 != 0) return std::nullopt;
  const std::size_t payload_size = bytes.size() - around_payload;
  if (payload_size != 0 && !info->has_payload()) return std::nullopt;
  return Packet(bytes, *info, *bth, payload_size);
}

PacketBuilder::PacketBuilder(std::span<std::byte> buffer, Bth bth, std::size_t payload_size)
    : buffer_(buffer),
      info_(&InfoOf(bth)),
      payload_size_(payload_size),
      missing_(info_->extensions) {
  CHECK(buffer.size() >= info_->header_size);
  CHECK(payload_size == 0 || info_->has_payload());
  bth.pad_count = static_cast<uint8_t>(PadFor(payload_size));
  bth.Serialize(buffer_);
}

void Seal(std::span<const std::byte> ip_and_udp, std::span<std::byte> packet) {
  const auto bth = Bth::Parse(packet);
  CHECK(bth.has_value());
  CHECK(packet.size() >= InfoOf(*bth).header_size + bth->pad_count + kIcrcSize);
  const auto covered = packet.first(packet.size() - kIcrcSize);
  std::ranges::fill(covered.last(bth->pad_count), std::byte{0});
  StoreIcrc(IcrcOf(ip_and_udp, covered), packet.last(kIcrcSize));
}

std::string ToString(const Packet& packet) {
  std::string text = ToString(packet.bth());
  Append<Rdeth>(packet, text);
  Append<Deth>(packet, text);
  Append<Xrceth>(packet, text);
  Append<Feth>(packet, text);
  Append<Reth>(packet, text);
  Append<AtomicEth>(packet, text);
  Append<Aeth>(packet, text);
  Append<AtomicAckEth>(packet, text);
  Append<ImmDt>(packet, text);
  Append<Ieth>(packet, text);
  if (packet.info().has_payload()) {
    text += "; " + std::to_string(packet.payload().size()) + " bytes";
  }
  return text;
}

}  // namespace verbena::wire
