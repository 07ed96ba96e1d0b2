#include "rdmacm/rsocket/credits.h"

#include <array>

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

TEST(SendCredits, AreConsumed) {
  SendCredits credits(2);
  credits.Take();
  ASSERT_TRUE(credits.available());
  credits.Take();
  EXPECT_FALSE(credits.available());
  credits.Grant(3);
  ASSERT_TRUE(credits.available());
  credits.Take();
  EXPECT_FALSE(credits.available());
}

TEST(ReceiveCredits, AreDueWhenHalfOfTheRoomIsUsed) {
  ReceiveCredits credits(16);
  for (int i = 0; i < 7; ++i) credits.Consume();
  EXPECT_FALSE(credits.due());
  credits.Consume();
  EXPECT_TRUE(credits.due());
  EXPECT_EQ(credits.Grant(), 24);
  EXPECT_FALSE(credits.due());
}

// The numbers wrap many times, with the largest possible room.
TEST(Credits, BothSidesAgreeAfterTheNumbersWrap) {
  for (const uint16_t room : std::array<uint16_t, 3>{16, 384, 0xFFFE}) {
    SendCredits sender(room);
    ReceiveCredits receiver(room);
    unsigned unread = 0;
    for (int i = 0; i < 300'000; ++i) {
      ASSERT_TRUE(sender.available()) << i;
      sender.Take();
      if (++unread < room / 2U + 1) continue;
      for (; unread > 0; --unread) receiver.Consume();
      ASSERT_TRUE(receiver.due());
      sender.Grant(receiver.Grant());
    }
  }
}

}  // namespace
}  // namespace verbena::rsockets
