#include "wire/roce/syndrome.h"

#include <gtest/gtest.h>

namespace verbena::wire {
namespace {

TEST(SyndromeTest, HasTheBytesOfTheSpecification) {
  EXPECT_EQ(Syndrome().byte(), 0x1F);
  EXPECT_EQ(Syndrome::Ack(CreditCode(5)).byte(), 0x05);
  EXPECT_EQ(Syndrome::RnrNak(RnrTimer(14)).byte(), 0x2E);
  EXPECT_EQ(Syndrome::Nak(NakCode::kPsnSequenceError).byte(), 0x60);
  EXPECT_EQ(Syndrome::Nak(NakCode::kInvalidRequest).byte(), 0x61);
  EXPECT_EQ(Syndrome::Nak(NakCode::kRemoteAccessError).byte(), 0x62);
  EXPECT_EQ(Syndrome::Nak(NakCode::kRemoteOperationalError).byte(), 0x63);
  EXPECT_EQ(Syndrome::Nak(NakCode::kInvalidRdRequest).byte(), 0x64);
}

TEST(SyndromeTest, AcceptsEveryByteThatIsNotReserved) {
  int taken = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const auto syndrome = Syndrome::FromByte(static_cast<uint8_t>(byte));
    if (!syndrome) continue;
    EXPECT_EQ(syndrome->byte(), byte);
    ++taken;
  }
  EXPECT_EQ(taken, 32 + 32 + 5);
  for (const int reserved : {0x40, 0x5F, 0x65, 0x7F, 0x80, 0xA0, 0xE0, 0xFF}) {
    EXPECT_EQ(Syndrome::FromByte(static_cast<uint8_t>(reserved)), std::nullopt) << reserved;
  }
}

TEST(SyndromeTest, ReturnsItsFields) {
  EXPECT_EQ(Syndrome::Ack(CreditCode(30)).credits(), CreditCode(30));
  EXPECT_EQ(Syndrome::RnrNak(RnrTimer(31)).rnr_timer(), RnrTimer(31));
  EXPECT_EQ(Syndrome::Nak(NakCode::kInvalidRdRequest).nak_code(), NakCode::kInvalidRdRequest);
  EXPECT_TRUE(Syndrome().is_ack());
  EXPECT_FALSE(Syndrome::RnrNak(RnrTimer(0)).is_ack());
}

TEST(SyndromeTest, CountsCreditsInHalfSteps) {
  EXPECT_EQ(CreditsOf(CreditCode(0)), 0u);
  EXPECT_EQ(CreditsOf(CreditCode(1)), 1u);
  for (uint8_t code = 2; code < 31; ++code) {
    const uint32_t power = uint32_t{1} << code / 2;
    EXPECT_EQ(CreditsOf(CreditCode(code)), code % 2 == 0 ? power : power * 3 / 2) << int{code};
  }
  EXPECT_EQ(CreditsOf(kCreditsInvalid), std::nullopt);
}

TEST(SyndromeTest, NeverGrantsMoreCreditsThanAvailable) {
  EXPECT_EQ(CreditCodeAtMost(0), CreditCode(0));
  EXPECT_EQ(CreditCodeAtMost(5), CreditCode(4));
  EXPECT_EQ(CreditCodeAtMost(6), CreditCode(5));
  EXPECT_EQ(CreditCodeAtMost(32'767), CreditCode(29));
  EXPECT_EQ(CreditCodeAtMost(UINT32_MAX), CreditCode(30));
}

TEST(SyndromeTest, HasATextForm) {
  EXPECT_EQ(ToString(Syndrome()), "ACK");
  EXPECT_EQ(ToString(Syndrome::Ack(CreditCode(7))), "ACK with 12 credits");
  EXPECT_EQ(ToString(Syndrome::RnrNak(RnrTimer(1))), "RNR NAK, wait 10 us");
  EXPECT_EQ(ToString(Syndrome::Nak(NakCode::kPsnSequenceError)), "NAK, PSN sequence error");
  EXPECT_EQ(ToString(Syndrome::Nak(NakCode::kInvalidRequest)), "NAK, invalid request");
  EXPECT_EQ(ToString(Syndrome::Nak(NakCode::kRemoteAccessError)), "NAK, remote access error");
  EXPECT_EQ(ToString(Syndrome::Nak(NakCode::kRemoteOperationalError)),
            "NAK, remote operational error");
  EXPECT_EQ(ToString(Syndrome::Nak(NakCode::kInvalidRdRequest)), "NAK, invalid RD request");
}

TEST(SyndromeDeathTest, RefusesFieldsOfAnotherKind) {
  EXPECT_DEATH((void)Syndrome().nak_code(), "CHECK failed");
  EXPECT_DEATH((void)Syndrome().rnr_timer(), "CHECK failed");
  EXPECT_DEATH((void)Syndrome::Nak(NakCode::kInvalidRequest).credits(), "CHECK failed");
  EXPECT_DEATH((void)Syndrome::Ack(CreditCode(32)), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
