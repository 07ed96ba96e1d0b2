#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/random.h"
#include "tests/support/wire_header.h"
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

namespace verbena::wire {

// A value of every header that a packet may have.
struct AllHeaders {
  Bth bth{};
  Rdeth rdeth{};
  Deth deth{};
  Xrceth xrceth{};
  Feth feth{};
  Reth reth{};
  AtomicEth atomic_eth{};
  Aeth aeth{};
  AtomicAckEth atomic_ack_eth{};
  ImmDt immdt{};
  Ieth ieth{};

  static AllHeaders Draw(const OpcodeInfo& info, Random& random) {
    const auto bits24 = [&random] { return random.Next32() & kMax24; };
    AllHeaders all;
    all.bth = {.opcode = info.opcode,
               .solicited_event = random.Chance(1, 2),
               .migration_request = random.Chance(1, 2),
               .p_key = PKey(static_cast<uint16_t>(random.Next32())),
               .dest_qp = QpNumber(bits24()),
               .ack_request = random.Chance(1, 2),
               .psn = Psn(bits24())};
    all.rdeth = {.ee_context = EeContext(bits24())};
    all.deth = {.q_key = QKey(random.Next32()), .source_qp = QpNumber(bits24())};
    all.xrceth = {.srq = SrqNumber(bits24())};
    all.feth = {.placement = Feth::kPersistence, .selectivity = Feth::kWholeRegion};
    all.reth = {.address = KeyAddress(random.Next64()),
                .r_key = Key(random.Next32()),
                .dma_length = random.Next32()};
    all.atomic_eth = {.address = KeyAddress(random.Next64()),
                      .r_key = Key(random.Next32()),
                      .swap_or_add = random.Next64(),
                      .compare = random.Next64()};
    const auto code = static_cast<uint8_t>(random.Below(5));
    all.aeth = {.syndrome = random.Chance(1, 2) ? Syndrome::Ack(CreditCode(code))
                                                : Syndrome::Nak(static_cast<NakCode>(code)),
                .msn = Msn(bits24())};
    all.atomic_ack_eth = {.original = random.Next64()};
    all.immdt = {.data = random.Next32()};
    all.ieth = {.r_key = Key(random.Next32())};
    return all;
  }

  // Adds the headers that the opcode has.
  void AddTo(const OpcodeInfo& info, PacketBuilder& builder) const {
    const auto add = [&](const auto& header) {
      if (info.Has(header.kExtension)) builder.Add(header);
    };
    add(rdeth);
    add(deth);
    add(xrceth);
    add(feth);
    add(reth);
    add(atomic_eth);
    add(aeth);
    add(atomic_ack_eth);
    add(immdt);
    add(ieth);
  }
};

// The opcodes of the specification.
inline std::vector<const OpcodeInfo*> AllOpcodes() {
  std::vector<const OpcodeInfo*> all;
  for (int i = 0; i < 256; ++i) {
    if (const auto* info = FindOpcode(Opcode(static_cast<uint8_t>(i)))) all.push_back(info);
  }
  return all;
}

// A complete packet without its ICRC.
inline std::vector<std::byte> BuildPacket(const OpcodeInfo& info, const AllHeaders& headers,
                                          const std::vector<std::byte>& payload) {
  std::vector<std::byte> bytes(256 + payload.size(), std::byte{0xEE});
  PacketBuilder builder(bytes, headers.bth, payload.size());
  headers.AddTo(info, builder);
  std::copy(payload.begin(), payload.end(), bytes.begin() + info.header_size);
  bytes.resize(builder.size());
  return bytes;
}

// The same with explicit headers.
template <class... Headers>
std::vector<std::byte> BuildPacket(const Bth& bth, std::span<const std::byte> payload,
                                   const Headers&... headers) {
  std::vector<std::byte> bytes(FindOpcode(bth.opcode)->header_size + payload.size() + 8);
  PacketBuilder builder(bytes, bth, payload.size());
  (builder.Add(headers), ...);
  std::ranges::copy(payload, bytes.begin() + static_cast<std::ptrdiff_t>(builder.headers().size()));
  bytes.resize(builder.size());
  return bytes;
}

}  // namespace verbena::wire
