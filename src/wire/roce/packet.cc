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

template <class Header>
void Append(const Packet& packet, std::string& text) {
  if (const auto header = packet.Get<Header>()) text += "; " + ToString(*header);
}

}  // namespace

void Seal(std::span<const std::byte> ip_and_udp, std::span<std::byte> packet) {
  const auto bth = Bth::Parse(packet);
  CHECK(bth.has_value());
  CHECK(packet.size() >= internal::RowOf(bth->opcode).header_size + bth->pad_count + kIcrcSize);
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
