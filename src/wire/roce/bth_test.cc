#include "wire/roce/bth.h"

#include <gtest/gtest.h>

#include "tests/support/dcheck.h"
#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr Bth kExample{.opcode = Opcode(0x0A),
                       .solicited_event = true,
                       .pad_count = 3,
                       .p_key = PKey(0x8001),
                       .becn = true,
                       .dest_qp = QpNumber(0x000011),
                       .ack_request = true,
                       .psn = Psn(0xFEDCBA)};

TEST(BthTest, HasTheBytesOfTheSpecification) {
  ExpectBytes(kExample, "0a b0 8001 40 000011 80 fedcba");
  ExpectBytes(Bth{.migration_request = true, .fecn = true}, "00 40 ffff 80 000000 00 000000");
}

TEST(BthTest, SurvivesARoundTrip) {
  ExpectRoundTrips([](Random& random) {
    return Bth{.opcode = Opcode(static_cast<uint8_t>(random.Below(256))),
               .solicited_event = random.Chance(1, 2),
               .migration_request = random.Chance(1, 2),
               .pad_count = static_cast<uint8_t>(random.Below(4)),
               .p_key = PKey(static_cast<uint16_t>(random.Next32())),
               .fecn = random.Chance(1, 2),
               .becn = random.Chance(1, 2),
               .dest_qp = QpNumber(random.Next32() & kMax24),
               .ack_request = random.Chance(1, 2),
               .psn = Psn(random.Next32())};
  });
}

TEST(BthTest, IgnoresReservedBits) {
  EXPECT_EQ(Bth::Parse(FromHex("0ab080017f000011fffedcba")), kExample);
}

TEST(BthTest, RefusesOtherTransportVersions) {
  EXPECT_EQ(Bth::Parse(FromHex("0ab180014000001180fedcba")), std::nullopt);
  EXPECT_EQ(Bth::Parse(FromHex("0ab880014000001180fedcba")), std::nullopt);
}

TEST(BthTest, HasATextForm) {
  EXPECT_EQ(ToString(kExample),
            "BTH RC RDMA WRITE Only, QP 0x000011, PSN 16702650, P_Key 0x8001, pad 3, ack request, "
            "solicited event, BECN");
  EXPECT_EQ(ToString(Bth{.opcode = Opcode(0x9F), .migration_request = true, .fecn = true}),
            "BTH opcode 0x9f, QP 0x000000, PSN 0, P_Key 0xffff, migration request, FECN");
}

TEST(BthDeathTest, RefusesValuesThatDoNotFit) {
  std::array<std::byte, Bth::kSize> bytes{};
  EXPECT_DCHECK_DEATH(Bth{.pad_count = 4}.Serialize(bytes));
  EXPECT_DCHECK_DEATH(Bth{.dest_qp = QpNumber(1 << 24)}.Serialize(bytes));
  EXPECT_DEATH(Bth{}.Serialize(std::span(bytes).first(11)), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
