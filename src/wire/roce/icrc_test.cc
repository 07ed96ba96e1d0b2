#include "wire/roce/icrc.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"
#include "wire/ipv4_header.h"
#include "wire/ipv6_header.h"
#include "wire/udp_flow.h"

namespace verbena::wire {
namespace {

using Bytes = std::vector<std::byte>;

// A packet that a kernel's Soft-RoCE sent: RC SEND Only over IPv4. More are in
// tests/golden/soft_roce.
constexpr const char* kSoftRoceSend =
    "45000054c51c4000401160de0a4d00030a4d0002c12112b7004000000430ffff000000118063039a"
    "be184b123731cd3fc8cc5fbc3588f6f334313a47e23d58dbc4bae83625b926e3d271f509a3000000"
    "af8868ee";

constexpr std::size_t kIpv4Size = Ipv4Header::kSize + UdpHeader::kSize;
constexpr std::size_t kIpv6Size = Ipv6Header::kSize + UdpHeader::kSize;

// CRC-32 bit by bit, as in the specification.
uint32_t SlowCrc(const Bytes& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

Icrc Of(const Bytes& datagram, std::size_t ip_and_udp) {
  const auto headers = std::span(datagram).first(ip_and_udp);
  return IcrcOf(headers, std::span(datagram).subspan(ip_and_udp));
}

Bytes AnyIpv4(Random& random, std::size_t packet_size, uint16_t identification) {
  Bytes bytes = RandomBytes(random, kIpv4Size + packet_size - kIcrcSize);
  Ipv4Header{.total_length = static_cast<uint16_t>(kIpv4Size + packet_size),
             .identification = identification,
             .source = Ipv4Address(random.Next32()),
             .destination = Ipv4Address(random.Next32())}
      .Serialize(bytes);
  return bytes;
}

TEST(IcrcTest, IsStoredLeastSignificantByteFirst) {
  Bytes bytes(4);
  StoreIcrc(Icrc(0x01020304), bytes);
  EXPECT_EQ(bytes, FromHex("04030201"));
  EXPECT_EQ(LoadIcrc(bytes), Icrc(0x01020304));
}

TEST(IcrcTest, AgreesWithSoftRoce) {
  const Bytes packet = FromHex(kSoftRoceSend);
  const auto covered = std::span(packet).first(packet.size() - kIcrcSize);
  EXPECT_EQ(IcrcOf(covered.first(kIpv4Size), covered.subspan(kIpv4Size)),
            LoadIcrc(std::span(packet).last(kIcrcSize)));
}

TEST(IcrcTest, CoversTheFieldsOfIpv4ThatAnnexA17Lists) {
  Random random(1);
  for (std::size_t size = 16; size < 200; size += 4) {
    const Bytes datagram = AnyIpv4(random, size, 0x1234);
    Bytes masked(8 + datagram.size(), std::byte{0xFF});
    std::ranges::copy(datagram, masked.begin() + 8);
    for (const std::size_t at : {1u, 8u, 10u, 11u, 26u, 27u, 28u + 4u}) {
      masked[8 + at] = std::byte{0xFF};
    }
    EXPECT_EQ(Of(datagram, kIpv4Size).value(), SlowCrc(masked));
  }
}

TEST(IcrcTest, CoversTheFieldsOfIpv6ThatAnnexA17Lists) {
  Random random(2);
  for (std::size_t size = 12; size < 200; size += 4) {
    Bytes datagram = RandomBytes(random, kIpv6Size + size);
    datagram[0] = std::byte{0x60} | (datagram[0] & std::byte{0x0F});
    Bytes masked(8 + datagram.size(), std::byte{0xFF});
    std::ranges::copy(datagram, masked.begin() + 8);
    masked[8] = std::byte{0x6F};
    for (const std::size_t at : {1u, 2u, 3u, 7u, 46u, 47u, 48u + 4u}) {
      masked[8 + at] = std::byte{0xFF};
    }
    EXPECT_EQ(Of(datagram, kIpv6Size).value(), SlowCrc(masked));
  }
}

TEST(IcrcTest, IsTheSameForAnySplitOfTheBytes) {
  Random random(3);
  const Bytes datagram = AnyIpv4(random, 1000, 7);
  const auto packet = std::span(datagram).subspan(kIpv4Size);
  const PseudoHeader pseudo_header{std::span(datagram).first(kIpv4Size)};
  IcrcSum sum(pseudo_header, packet.first<Bth::kSize>());
  for (auto rest = packet.subspan(Bth::kSize); !rest.empty();) {
    const std::size_t piece = std::min<std::size_t>(rest.size(), random.Below(70));
    sum.Update(rest.first(piece));
    rest = rest.subspan(piece);
  }
  EXPECT_EQ(sum.Finish(), Of(datagram, kIpv4Size));
}

TEST(IcrcTest, PseudoHeaderServesPacketsOfEverySize) {
  Random random(8);
  const UdpFlow ipv4{.source = IpAddress::FromIpv4(Ipv4Address(1)),
                     .destination = IpAddress::FromIpv4(Ipv4Address(2))};
  const UdpFlow ipv6{.source = {{0xFD, 1}}, .destination = {{0xFD, 2}}};
  for (const UdpFlow& flow : {ipv4, ipv6}) {
    PseudoHeader kept(flow.HeadersFor(0).bytes());
    for (const std::size_t size : {4132u, 16u, 65'504u, 1044u}) {
      const Bytes covered = RandomBytes(random, size - kIcrcSize);
      kept.set_packet_size(size);
      IcrcSum sum(kept, std::span(covered).first<Bth::kSize>());
      sum.Update(std::span(covered).subspan(Bth::kSize));
      EXPECT_EQ(sum.Finish(), IcrcOf(flow.HeadersFor(size).bytes(), covered)) << size;
    }
  }
}

TEST(IcrcTest, DetectsAFlipOfEveryUnmaskedBit) {
  Random random(4);
  const Bytes datagram = AnyIpv4(random, 40, 7);
  const Icrc right = Of(datagram, kIpv4Size);
  std::size_t unnoticed = 0;
  for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
    Bytes changed = datagram;
    changed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    if (Of(changed, kIpv4Size) == right) ++unnoticed;
  }
  EXPECT_EQ(unnoticed, 7 * 8u);
}

TEST(IdentificationTest, CanBeSetInAPseudoHeader) {
  Random random(5);
  constexpr std::size_t kSize = 64;
  for (const uint16_t identification : std::initializer_list<uint16_t>{0, 1, 0x1234, 0xFFFF}) {
    const Bytes datagram = AnyIpv4(random, kSize, identification);
    Bytes other = datagram;
    other[4] = other[5] = std::byte{0x5A};
    PseudoHeader header{std::span(other).first(kIpv4Size)};
    header.set_identification(identification);
    const auto packet = std::span(datagram).subspan(kIpv4Size);
    IcrcSum sum(header, packet.first<Bth::kSize>());
    sum.Update(packet.subspan(Bth::kSize));
    EXPECT_EQ(sum.Finish(), Of(datagram, kIpv4Size));
  }
}

TEST(IdentificationTest, ChangesTheIcrcByADeltaOfTheLengthOnly) {
  Random random(5);
  for (const std::size_t size : {16u, 20u, 88u, 500u, 4116u, 4120u, 8192u, 65'504u}) {
    const auto identification = static_cast<uint16_t>(random.Between(1, 0xFFFF));
    Bytes datagram = AnyIpv4(random, size, 0);
    const Icrc with_zero = Of(datagram, kIpv4Size);
    datagram[4] = static_cast<std::byte>(identification >> 8);
    datagram[5] = static_cast<std::byte>(identification & 0xFF);
    const Icrc arrived = Of(datagram, kIpv4Size);
    EXPECT_EQ(IdentificationDelta(identification, size).value(),
              arrived.value() ^ with_zero.value());
    EXPECT_EQ(ExplainIdentification(arrived, with_zero, size), identification);
  }
}

TEST(IdentificationTest, ExplainsEveryIdentification) {
  constexpr std::size_t kSize = 64;
  const Icrc with_zero(0x87654321);
  EXPECT_EQ(IdentificationDelta(0, kSize), Icrc(0));
  for (uint32_t id = 0; id <= 0xFFFF; ++id) {
    const uint32_t delta = IdentificationDelta(static_cast<uint16_t>(id), kSize).value();
    ASSERT_EQ(ExplainIdentification(Icrc(with_zero.value() ^ delta), with_zero, kSize), id);
  }
}

// No identification explains a single flipped bit after the IP and UDP headers.
TEST(IdentificationTest, DoesNotExplainCorruption) {
  Random random(6);
  const Bytes datagram = AnyIpv4(random, 256, 0);
  const Icrc with_zero = Of(datagram, kIpv4Size);
  for (std::size_t bit = 28 * 8; bit < datagram.size() * 8; ++bit) {
    if (bit / 8 == 28 + Bth::kVariantByte) continue;
    Bytes changed = datagram;
    changed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_EQ(ExplainIdentification(Of(changed, kIpv4Size), with_zero, 256), std::nullopt) << bit;
  }
}

TEST(IdentificationTest, RarelyExplainsRandomDifferences) {
  Random random(7);
  int explained = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (ExplainIdentification(Icrc(random.Next32()), Icrc(0), 1044)) ++explained;
  }
  EXPECT_LE(explained, 5);  // 0.3 expected
}

TEST(IcrcDeathTest, RefusesHeadersOfAnotherSize) {
  const Bytes bytes(100);
  EXPECT_DEATH((void)Of(bytes, 20), "CHECK failed");
  EXPECT_DEATH((void)Of(bytes, 95), "CHECK failed");
  EXPECT_DEATH((void)LoadIcrc(std::span(bytes).first(3)), "CHECK failed");
  EXPECT_DEATH((void)IdentificationDelta(1, 17), "CHECK failed");
  EXPECT_DEATH((void)IdentificationDelta(1, 12), "CHECK failed");
  EXPECT_DEATH((void)IdentificationDelta(1, 65'508), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
