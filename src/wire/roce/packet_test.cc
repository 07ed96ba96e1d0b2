#include "wire/roce/packet.h"

#include <gtest/gtest.h>

#include "tests/support/dcheck.h"
#include "tests/support/wire_packets.h"
#include "wire/udp_flow.h"

namespace verbena::wire {
namespace {

using Bytes = std::vector<std::byte>;

constexpr UdpFlow kFlow{.source = {{0xFD, 1}}, .destination = {{0xFD, 2}}, .source_port = 0xC000};

const OpcodeInfo& InfoOf(int opcode) {
  const OpcodeInfo* info = FindOpcode(Opcode(static_cast<uint8_t>(opcode)));
  CHECK(info != nullptr);
  return *info;
}

template <class Header>
void ExpectHeader(const Packet& packet, const Header& built) {
  if (packet.info().Has(Header::kExtension)) {
    EXPECT_EQ(packet.Get<Header>(), built) << packet.info().name();
  } else {
    EXPECT_EQ(packet.Get<Header>(), std::nullopt) << packet.info().name();
  }
}

TEST(PacketTest, SurvivesBuildAndParse) {
  Random random(1);
  for (const OpcodeInfo* info : AllOpcodes()) {
    for (std::size_t size = 0; size < 70; ++size) {
      if (size != 0 && !info->has_payload()) break;
      const AllHeaders built = AllHeaders::Draw(*info, random);
      const Bytes payload = RandomBytes(random, size);
      const Bytes bytes = BuildPacket(*info, built, payload);
      const auto packet = Packet::Parse(bytes);
      ASSERT_TRUE(packet) << info->name();
      Bth bth = built.bth;
      bth.pad_count = static_cast<uint8_t>(PadFor(size));
      EXPECT_EQ(packet->bth(), bth);
      EXPECT_EQ(&packet->info(), info);
      ExpectHeader(*packet, built.rdeth);
      ExpectHeader(*packet, built.deth);
      ExpectHeader(*packet, built.xrceth);
      ExpectHeader(*packet, built.feth);
      ExpectHeader(*packet, built.reth);
      ExpectHeader(*packet, built.atomic_eth);
      ExpectHeader(*packet, built.aeth);
      ExpectHeader(*packet, built.atomic_ack_eth);
      ExpectHeader(*packet, built.immdt);
      ExpectHeader(*packet, built.ieth);
      EXPECT_TRUE(std::ranges::equal(packet->payload(), payload));
    }
  }
}

TEST(PacketTest, HasTheBytesOfTheSpecification) {
  const OpcodeInfo& info = InfoOf(0x0B);
  AllHeaders headers;
  headers.bth = {.opcode = info.opcode, .dest_qp = QpNumber(0x11), .psn = Psn(0x7)};
  headers.reth = {.address = KeyAddress(0x1000), .r_key = Key(0x22), .dma_length = 3};
  headers.immdt = {.data = 0x99};
  Bytes bytes = BuildPacket(info, headers, FromHex("aabbcc"));
  Seal(kFlow.HeadersFor(bytes.size()).bytes(), bytes);
  bytes.resize(bytes.size() - kIcrcSize);
  EXPECT_EQ(bytes, FromHex("0b10ffff 00000011 00000007 0000000000001000 00000022 00000003 00000099 "
                           "aabbcc 00"));
}

TEST(PacketTest, RefusesEveryOtherLength) {
  Random random(2);
  for (const OpcodeInfo* info : AllOpcodes()) {
    const Bytes payload = RandomBytes(random, info->has_payload() ? 5 : 0);
    const Bytes whole = BuildPacket(*info, AllHeaders::Draw(*info, random), payload);
    // With pad 3 there are at least the headers, a payload word of which 1 byte is left, the ICRC.
    const std::size_t shortest = info->header_size + (info->has_payload() ? 4 : 0) + kIcrcSize;
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      const auto packet = Packet::Parse(std::span(whole).first(size));
      EXPECT_EQ(packet.has_value(), size >= shortest && size % 4 == 0)
          << info->name() << ", " << size << " bytes";
    }
  }
}

TEST(PacketTest, RefusesAPayloadThatTheOpcodeDoesNotHave) {
  Random random(3);
  for (const OpcodeInfo* info : AllOpcodes()) {
    Bytes bytes = BuildPacket(*info, AllHeaders::Draw(*info, random), {});
    bytes.resize(bytes.size() + 4);
    EXPECT_EQ(Packet::Parse(bytes).has_value(), info->has_payload()) << info->name();
  }
}

TEST(PacketTest, RefusesAPadWithoutPayload) {
  Random random(4);
  for (const OpcodeInfo* info : AllOpcodes()) {
    Bytes bytes = BuildPacket(*info, AllHeaders::Draw(*info, random), {});
    for (int pad = 1; pad <= 3; ++pad) {
      bytes[1] = static_cast<std::byte>(pad << 4);
      EXPECT_EQ(Packet::Parse(bytes), std::nullopt) << info->name();
    }
  }
}

TEST(PacketTest, RefusesUndefinedOpcodes) {
  Bytes bytes(64);
  for (const int opcode : {0x15, 0x18, 0x2C, 0x60, 0x66, 0x80, 0x82, 0xB5, 0xBC, 0xC0, 0xFF}) {
    bytes[0] = static_cast<std::byte>(opcode);
    EXPECT_EQ(Packet::Parse(bytes), std::nullopt) << opcode;
  }
}

TEST(PacketTest, LeavesTheLengthOfThePayloadToTheResponder) {
  const Bytes empty_last = BuildPacket(InfoOf(0x02), {.bth = {.opcode = Opcode(0x02)}}, {});
  const auto packet = Packet::Parse(empty_last);
  ASSERT_TRUE(packet);
  EXPECT_FALSE(PayloadFits(packet->info(), packet->payload().size(), 1024));
}

TEST(PacketTest, IsSealedWithAZeroPadAndTheIcrc) {
  const OpcodeInfo& info = InfoOf(0x04);
  Bytes bytes = BuildPacket(info, {.bth = {.opcode = info.opcode}}, FromHex("01"));
  const IpUdpHeaders headers = kFlow.HeadersFor(bytes.size());
  Seal(headers.bytes(), bytes);
  const auto packet = Packet::Parse(bytes);
  ASSERT_TRUE(packet);
  EXPECT_TRUE(std::ranges::equal(packet->covered().last(4), FromHex("01000000")));
  EXPECT_EQ(packet->icrc(), IcrcOf(headers.bytes(), packet->covered()));
}

TEST(PacketTest, HasATextForm) {
  const OpcodeInfo& info = InfoOf(0x45);
  AllHeaders headers;
  headers.bth.opcode = info.opcode;
  const Bytes bytes = BuildPacket(info, headers, FromHex("0102"));
  EXPECT_EQ(ToString(*Packet::Parse(bytes)),
            "BTH RD SEND Only with Immediate, QP 0x000000, PSN 0, P_Key 0xffff, pad 2; "
            "RDETH EE-Context 0x000000; DETH Q_Key 0x00000000, source QP 0x000000; "
            "ImmDt 0x00000000; 2 bytes");
}

TEST(PacketBuilderTest, ComputesTheSizeOfThePacket) {
  Bytes buffer(28);
  const PacketBuilder builder(buffer, {.opcode = Opcode(0x0A)}, 5);
  EXPECT_EQ(builder.trailer_size(), 3 + 4u);
  EXPECT_EQ(builder.size(), 28 + 5 + 7u);
}

TEST(PacketBuilderDeathTest, RequiresEachHeaderExactlyOnce) {
  Bytes buffer(64);
  PacketBuilder builder(buffer, {.opcode = Opcode(0x0A)}, 0);
  EXPECT_DCHECK_DEATH((void)builder.headers());
  EXPECT_DCHECK_DEATH(builder.Add(ImmDt{}));
  builder.Add(Reth{});
  EXPECT_EQ(builder.headers().size(), 28u);
  EXPECT_DCHECK_DEATH(builder.Add(Reth{}));
}

TEST(PacketBuilderDeathTest, RefusesInvalidArguments) {
  Bytes buffer(27);
  EXPECT_DEATH(PacketBuilder(buffer, {.opcode = Opcode(0x15)}, 0), "CHECK failed") << "undefined";
  EXPECT_DCHECK_DEATH(PacketBuilder(buffer, {.opcode = Opcode(0x11)}, 1));
  EXPECT_DEATH(PacketBuilder(buffer, {.opcode = Opcode(0x0A)}, 0), "CHECK failed") << "no room";
}

}  // namespace
}  // namespace verbena::wire
