#include "rdmacm/rsocket/stream_receiver.h"

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

TEST(StreamReceiver, GrantsTheSecondHalfAtOnce) {
  StreamReceiver receiver(1000, 16);
  EXPECT_EQ(receiver.half(), 500U);
  ASSERT_TRUE(receiver.half_due());
  EXPECT_EQ(receiver.GrantHalf(), (BufferPart{.offset = 500, .length = 500}));
  EXPECT_FALSE(receiver.half_due());
}

TEST(StreamReceiver, ReadsBytesInOrder) {
  StreamReceiver receiver(1000, 16);
  EXPECT_TRUE(receiver.OnData(100));
  EXPECT_TRUE(receiver.OnData(50));
  EXPECT_EQ(receiver.readable(), 150U);
  EXPECT_EQ(receiver.Front(120).first, (BufferPart{.offset = 0, .length = 120}));
  receiver.Consume(120);
  EXPECT_EQ(receiver.Front(30).first, (BufferPart{.offset = 120, .length = 30}));
}

TEST(StreamReceiver, GrantsAHalfAgainWhenItIsRead) {
  StreamReceiver receiver(1000, 16);
  static_cast<void>(receiver.GrantHalf());
  EXPECT_TRUE(receiver.OnData(500));
  EXPECT_TRUE(receiver.OnData(200));
  receiver.Consume(499);
  EXPECT_FALSE(receiver.half_due());
  receiver.Consume(1);
  ASSERT_TRUE(receiver.half_due());
  EXPECT_EQ(receiver.GrantHalf(), (BufferPart{.offset = 0, .length = 500}));
  EXPECT_TRUE(receiver.OnData(300));
  EXPECT_TRUE(receiver.OnData(500));
  // The reader crosses the end of the buffer.
  receiver.Consume(400);
  const RingPart part = receiver.Front(600);
  EXPECT_EQ(part.first, (BufferPart{.offset = 900, .length = 100}));
  EXPECT_EQ(part.second, (BufferPart{.offset = 0, .length = 500}));
}

TEST(StreamReceiver, GrantsACreditForEachConsumedMessage) {
  StreamReceiver receiver(1000, 4);
  EXPECT_TRUE(receiver.OnData(10));
  EXPECT_TRUE(receiver.OnData(10));
  receiver.Consume(19);
  EXPECT_FALSE(receiver.credits_due());
  receiver.Consume(1);
  EXPECT_TRUE(receiver.credits_due());
  EXPECT_EQ(receiver.GrantCredits(), 6);
}

TEST(StreamReceiver, CountsMessagesWithoutData) {
  StreamReceiver receiver(1000, 4);
  receiver.OnCounted();
  EXPECT_TRUE(receiver.OnData(0));
  EXPECT_TRUE(receiver.credits_due());
  EXPECT_EQ(receiver.readable(), 0U);
}

TEST(StreamReceiver, RefusesDataThatWasNotGranted) {
  StreamReceiver receiver(1000, 4);
  EXPECT_TRUE(receiver.OnData(400));
  EXPECT_FALSE(receiver.OnData(101));
  EXPECT_TRUE(receiver.OnData(100));
  EXPECT_FALSE(receiver.OnData(1));
}

TEST(StreamReceiver, RefusesAMessageWithoutCredit) {
  StreamReceiver receiver(1000, 2);
  EXPECT_TRUE(receiver.OnData(1));
  EXPECT_TRUE(receiver.OnData(1));
  EXPECT_FALSE(receiver.OnData(1));
}

}  // namespace
}  // namespace verbena::rsockets
