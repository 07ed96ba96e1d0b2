// The headers after the BTH: bytes of the specification, round trip, text form.

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"
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

const Aeth kAeth{.syndrome = Syndrome::RnrNak(RnrTimer(12)), .msn = Msn(0xFFFFFF)};

TEST(AethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kAeth, "2c ffffff"); }

TEST(AethTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return Aeth{.syndrome = Syndrome::Ack(CreditCode(static_cast<uint8_t>(random.Below(32)))),
                .msn = Msn(random.Next32())};
  });
}

TEST(AethTest, RefusesReservedSyndromes) {
  EXPECT_EQ(Aeth::Parse(FromHex("40000001")), std::nullopt);
  EXPECT_EQ(Aeth::Parse(FromHex("9f000001")), std::nullopt);
  EXPECT_EQ(Aeth::Parse(FromHex("65000001")), std::nullopt);
}

TEST(AethTest, HasATextForm) {
  EXPECT_EQ(ToString(kAeth), "AETH RNR NAK, wait 640 us, MSN 16777215");
}

constexpr AtomicAckEth kAtomicAckEth{.original = 0x1020304050607080};

TEST(AtomicAckEthTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kAtomicAckEth, "1020304050607080");
}

TEST(AtomicAckEthTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return AtomicAckEth{.original = random.Next64()}; });
}

TEST(AtomicAckEthTest, HasATextForm) {
  EXPECT_EQ(ToString(kAtomicAckEth), "AtomicAckETH original 0x1020304050607080");
}

constexpr AtomicEth kAtomicEth{.address = KeyAddress(0xFFFFFFFFFFFFFFF8),
                               .r_key = Key(1),
                               .swap_or_add = 0x1122334455667788,
                               .compare = 0x99AABBCCDDEEFF00};

TEST(AtomicEthTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kAtomicEth, "fffffffffffffff8 00000001 1122334455667788 99aabbccddeeff00");
}

TEST(AtomicEthTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return AtomicEth{.address = KeyAddress(random.Next64()),
                     .r_key = Key(random.Next32()),
                     .swap_or_add = random.Next64(),
                     .compare = random.Next64()};
  });
}

TEST(AtomicEthTest, HasATextForm) {
  EXPECT_EQ(ToString(kAtomicEth),
            "AtomicETH address 0xfffffffffffffff8, R_Key 0x00000001, swap or add "
            "0x1122334455667788, compare 0x99aabbccddeeff00");
}

constexpr Deth kDeth{.q_key = QKey(0x80010000), .source_qp = QpNumber(0x123456)};

TEST(DethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kDeth, "80010000 00 123456"); }

TEST(DethTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return Deth{.q_key = QKey(random.Next32()), .source_qp = QpNumber(random.Next32() & kMax24)};
  });
}

TEST(DethTest, IgnoresReservedBits) { EXPECT_EQ(Deth::Parse(FromHex("80010000ff123456")), kDeth); }

TEST(DethTest, HasATextForm) {
  EXPECT_EQ(ToString(kDeth), "DETH Q_Key 0x80010000, source QP 0x123456");
}

constexpr Feth kFeth{.placement = Feth::kPersistence, .selectivity = Feth::kWholeRegion};

TEST(FethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kFeth, "00000012"); }

TEST(FethTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return Feth{.placement = static_cast<uint8_t>(random.Below(16)),
                .selectivity = static_cast<uint8_t>(random.Below(4))};
  });
}

TEST(FethTest, IgnoresReservedBits) { EXPECT_EQ(Feth::Parse(FromHex("ffffffd2")), kFeth); }

TEST(FethTest, HasATextForm) { EXPECT_EQ(ToString(kFeth), "FETH placement 0x2, selectivity 0x1"); }

TEST(FethDeathTest, RefusesValuesThatDoNotFit) {
  std::array<std::byte, Feth::kSize> bytes{};
  EXPECT_DEATH(Feth{.placement = 16}.Serialize(bytes), "CHECK failed");
  EXPECT_DEATH(Feth{.selectivity = 4}.Serialize(bytes), "CHECK failed");
}

constexpr Ieth kIeth{.r_key = Key(0x00010203)};

TEST(IethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kIeth, "00010203"); }

TEST(IethTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return Ieth{.r_key = Key(random.Next32())}; });
}

TEST(IethTest, HasATextForm) { EXPECT_EQ(ToString(kIeth), "IETH R_Key 0x00010203"); }

constexpr ImmDt kImmDt{.data = 0xDEADBEEF};

TEST(ImmDtTest, HasTheBytesOfTheSpecification) { ExpectBytes(kImmDt, "deadbeef"); }

TEST(ImmDtTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) { return ImmDt{.data = random.Next32()}; });
}

TEST(ImmDtTest, HasATextForm) { EXPECT_EQ(ToString(kImmDt), "ImmDt 0xdeadbeef"); }

constexpr Rdeth kRdeth{.ee_context = EeContext(0xABCDEF)};

TEST(RdethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kRdeth, "00 abcdef"); }

TEST(RdethTest, SurvivesARoundTrip) {
  ExpectRoundTrips(
      [](Random& random) { return Rdeth{.ee_context = EeContext(random.Next32() & kMax24)}; });
}

TEST(RdethTest, IgnoresReservedBits) { EXPECT_EQ(Rdeth::Parse(FromHex("ffabcdef")), kRdeth); }

TEST(RdethTest, HasATextForm) { EXPECT_EQ(ToString(kRdeth), "RDETH EE-Context 0xabcdef"); }

constexpr Reth kReth{
    .address = KeyAddress(0x0102030405060708), .r_key = Key(0xCAFEF00D), .dma_length = 0x80000000};

TEST(RethTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kReth, "0102030405060708 cafef00d 80000000");
}

TEST(RethTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return Reth{.address = KeyAddress(random.Next64()),
                .r_key = Key(random.Next32()),
                .dma_length = random.Next32()};
  });
}

TEST(RethTest, HasATextForm) {
  EXPECT_EQ(ToString(kReth),
            "RETH address 0x0102030405060708, R_Key 0xcafef00d, length 2147483648");
}

constexpr Xrceth kXrceth{.srq = SrqNumber(0x000102)};

TEST(XrcethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kXrceth, "00 000102"); }

TEST(XrcethTest, SurvivesARoundTrip) {
  ExpectRoundTrips(
      [](Random& random) { return Xrceth{.srq = SrqNumber(random.Next32() & kMax24)}; });
}

TEST(XrcethTest, IgnoresReservedBits) { EXPECT_EQ(Xrceth::Parse(FromHex("ff000102")), kXrceth); }

TEST(XrcethTest, HasATextForm) { EXPECT_EQ(ToString(kXrceth), "XRCETH SRQ 0x000102"); }

}  // namespace
}  // namespace verbena::wire
