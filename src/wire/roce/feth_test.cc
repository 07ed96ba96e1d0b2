#include "wire/roce/feth.h"

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

constexpr Feth kExample{.placement = Feth::kPersistence, .selectivity = Feth::kWholeRegion};

TEST(FethTest, HasTheBytesOfTheSpecification) { ExpectBytes(kExample, "00000012"); }

TEST(FethTest, ComesBackAsItWasWritten) {
  ExpectRoundTrips([](Random& random) {
    return Feth{.placement = static_cast<uint8_t>(random.Below(16)),
                .selectivity = static_cast<uint8_t>(random.Below(4))};
  });
}

TEST(FethTest, IgnoresReservedBits) { EXPECT_EQ(Feth::Parse(FromHex("ffffffd2")), kExample); }

TEST(FethTest, SaysWhatItHolds) {
  EXPECT_EQ(ToString(kExample), "FETH placement 0x2, selectivity 0x1");
}

TEST(FethDeathTest, RefusesValuesThatDoNotFit) {
  std::array<std::byte, Feth::kSize> bytes{};
  EXPECT_DEATH(Feth{.placement = 16}.Serialize(bytes), "CHECK failed");
  EXPECT_DEATH(Feth{.selectivity = 4}.Serialize(bytes), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
