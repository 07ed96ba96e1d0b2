#include "wire/mad/cm_mad.h"

#include <cstdint>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"

namespace verbena::wire {
namespace {

TEST(CmMadTest, EveryMessageComesBackAsItWasWritten) {
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    std::size_t index = 0;
    for (const CmMessage& message : DrawAllCmMessages(random)) {
      EXPECT_EQ(message.index(), index++);
      const CmMad mad{TransactionId(random.Next64()), message};
      EXPECT_EQ(CmMad::Parse(mad.ToBytes()), mad);
    }
    EXPECT_EQ(index, std::variant_size_v<CmMessage>);
  }
}

TEST(CmMadTest, HasTheHeaderOfItsClass) {
  const auto bytes = CmMad{TransactionId(0x1122334455667788), CmRtu{}}.ToBytes();
  const auto header = FromHex("01 07 02 03 0000 0000 1122334455667788 0014 0000 00000000");
  EXPECT_TRUE(std::ranges::equal(std::span(bytes).first(MadHeader::kSize), header));
}

TEST(CmMadTest, TheAttributeModifierHasTheOptionsOfEce) {
  constexpr size_t kModifier = 20;
  const CmEce ece{.vendor_id = 0x15b3, .options = 0xA1B2C3D4};
  const CmMad req{TransactionId(1), CmReq{.ece = ece}};
  const CmMad rep{TransactionId(2), CmRep{.ece = ece}};
  for (const CmMad& mad : {req, rep}) {
    const auto bytes = mad.ToBytes();
    EXPECT_TRUE(std::ranges::equal(std::span(bytes).subspan(kModifier, 4), FromHex("a1b2c3d4")));
    EXPECT_EQ(CmMad::Parse(bytes), mad);
  }
}

TEST(CmMadTest, RefusesWhatIsNotAMessageOfItsClass) {
  const auto good = CmMad{TransactionId(1), CmRtu{}}.ToBytes();
  ASSERT_TRUE(CmMad::Parse(good));
  EXPECT_EQ(CmMad::Parse(std::span(good).first(CmMad::kSize - 1)), std::nullopt);
  // Base version, class, class version, method and its response bit, attributes.
  for (const auto& [at, value] : {std::pair{0, 2},
                                  {1, 3},
                                  {2, 1},
                                  {3, 1},
                                  {3, 0x83},
                                  {17, 1},
                                  {17, 0x0F},
                                  {17, 0x1B},
                                  {16, 1}}) {
    auto bytes = good;
    bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_EQ(CmMad::Parse(bytes), std::nullopt) << at << " " << value;
  }
}

TEST(CmMadTest, RefusesAMessageWithAReservedValue) {
  auto bytes = CmMad{TransactionId(1), CmMra{}}.ToBytes();
  bytes[MadHeader::kSize + 8] = std::byte{0xC0};
  EXPECT_EQ(CmMad::Parse(bytes), std::nullopt);
}

TEST(CmMadTest, HasATextForm) {
  EXPECT_EQ(ToString(CmMad{TransactionId(0xA), CmRtu{.local_comm_id = CommId(1)}}),
            "RTU local id 0x00000001, remote id 0x00000000, transaction 0x000000000000000a");
}

}  // namespace
}  // namespace verbena::wire
