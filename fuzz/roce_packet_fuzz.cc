// Parses any bytes as a RoCE packet. A packet that parses is rebuilt from the parsed fields; the
// result must be the same bytes, except for reserved bits and the pad.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "wire/roce/aeth.h"
#include "wire/roce/atomic_ack_eth.h"
#include "wire/roce/atomic_eth.h"
#include "wire/roce/deth.h"
#include "wire/roce/feth.h"
#include "wire/roce/ieth.h"
#include "wire/roce/immdt.h"
#include "wire/roce/packet.h"
#include "wire/roce/rdeth.h"
#include "wire/roce/reth.h"
#include "wire/roce/xrceth.h"

namespace {

using namespace verbena::wire;

using Bytes = std::vector<std::byte>;

// False if the opcode has the header, but its value is reserved.
template <class Header>
bool Copy(const Packet& packet, PacketBuilder& builder) {
  if (!packet.info().Has(Header::kExtension)) return true;
  const auto header = packet.Get<Header>();
  if (header) builder.Add(*header);
  return header.has_value();
}

// Empty if a header holds a reserved value.
Bytes Rebuild(const Packet& packet) {
  Bytes bytes(packet.size());
  PacketBuilder builder(bytes, packet.bth(), packet.payload().size());
  CHECK(builder.size() == packet.size());
  const bool copied = Copy<Rdeth>(packet, builder) && Copy<Deth>(packet, builder) &&
                      Copy<Xrceth>(packet, builder) && Copy<Feth>(packet, builder) &&
                      Copy<Reth>(packet, builder) && Copy<AtomicEth>(packet, builder) &&
                      Copy<Aeth>(packet, builder) && Copy<AtomicAckEth>(packet, builder) &&
                      Copy<ImmDt>(packet, builder) && Copy<Ieth>(packet, builder);
  if (!copied) return {};
  CHECK(builder.headers().size() == packet.info().header_size);
  std::ranges::copy(packet.payload(), bytes.begin() + packet.info().header_size);
  StoreIcrc(packet.icrc(), std::span(bytes).last(kIcrcSize));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto packet = Packet::Parse(std::as_bytes(std::span(data, size)));
  if (!packet) return 0;
  CHECK(!ToString(*packet).empty());
  const Bytes rebuilt = Rebuild(*packet);
  if (rebuilt.empty()) return 0;

  // The rebuilt packet has no reserved bits set, so rebuilding it once more gives the same bytes.
  const auto again = Packet::Parse(rebuilt);
  CHECK(again.has_value());
  CHECK(Rebuild(*again) == rebuilt);
  CHECK(ToString(*again) == ToString(*packet));
  CHECK(std::ranges::equal(again->payload(), packet->payload()));
  CHECK(again->icrc() == packet->icrc());
  return 0;
}
