#include "rdmacm/rsocket/stream_sender.h"

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

constexpr RemoteBuffer kTarget{.address = 0x10000, .rkey = 7, .length = 100'000};

StreamSender::Config Config() {
  return {.slots = 8, .slots_per_data = 1, .buffer_size = 32 << 10, .inline_max = 64};
}

TEST(StreamSender, FillsATargetFromItsBeginning) {
  StreamSender sender(Config(), 16, kTarget);
  const auto first = sender.Next(1000);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->length, 1000U);
  EXPECT_EQ(first->remote_address, 0x10000U);
  EXPECT_EQ(first->rkey, 7U);
  EXPECT_EQ(first->local.first, (BufferPart{.offset = 0, .length = 1000}));
  const auto second = sender.Next(500);
  EXPECT_EQ(second->remote_address, 0x10000U + 1000);
  EXPECT_EQ(second->local.first.offset, 1000U);
}

TEST(StreamSender, InlineDataUsesNoBuffer) {
  StreamSender sender(Config(), 16, kTarget);
  EXPECT_EQ(sender.Next(64)->local.length(), 0U);
  EXPECT_EQ(sender.Next(65)->local.length(), 65U);
}

TEST(StreamSender, SplitsATransferAtTheEndOfTheTarget) {
  StreamSender sender(Config(), 16, {.address = 0x1000, .rkey = 1, .length = 300});
  EXPECT_EQ(sender.Next(200)->length, 200U);
  EXPECT_EQ(sender.Next(200)->length, 100U);
  EXPECT_FALSE(sender.can_send());
  ASSERT_TRUE(sender.OnTarget({.address = 0x9000, .rkey = 2, .length = 300}));
  const auto next = sender.Next(200);
  EXPECT_EQ(next->remote_address, 0x9000U);
  EXPECT_EQ(next->rkey, 2U);
}

TEST(StreamSender, StopsWithoutCredits) {
  StreamSender sender(Config(), 2, kTarget);
  EXPECT_TRUE(sender.Next(100));
  EXPECT_TRUE(sender.Next(100));
  EXPECT_FALSE(sender.Next(100));
  EXPECT_TRUE(sender.NextDirect(100));
  EXPECT_FALSE(sender.NextEntry(24));
  sender.OnCredits(4);
  EXPECT_TRUE(sender.NextEntry(24));
  EXPECT_TRUE(sender.Next(100));
  EXPECT_FALSE(sender.Next(100));
}

TEST(StreamSender, StopsWhenTheSendQueueIsFull) {
  StreamSender sender(Config(), 100, kTarget);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(sender.Next(10)) << i;
  EXPECT_FALSE(sender.can_send());
  EXPECT_FALSE(sender.can_send_direct());
  EXPECT_FALSE(sender.idle());
  for (int i = 0; i < 8; ++i) sender.OnCompletion(1, 0);
  EXPECT_TRUE(sender.idle());
  EXPECT_TRUE(sender.can_send());
}

TEST(StreamSender, CountsTwoSlotsIfAMessageHasItsOwnRequest) {
  StreamSender::Config config = Config();
  config.slots_per_data = 2;
  config.slots = 5;
  StreamSender sender(config, 100, kTarget);
  EXPECT_TRUE(sender.Next(10));
  EXPECT_TRUE(sender.Next(10));
  EXPECT_FALSE(sender.Next(10));
  EXPECT_TRUE(sender.NextDirect(10));
}

TEST(StreamSender, WaitsUntilEnoughOfTheBufferIsFree) {
  StreamSender sender(Config(), 100, kTarget);
  EXPECT_EQ(sender.Next(31 << 10)->length, 31U << 10);
  EXPECT_FALSE(sender.can_send());  // 1 KiB is below the low water mark
  sender.OnCompletion(1, 31 << 10);
  // Across the end of the buffer.
  const auto transfer = sender.Next(16 << 10);
  EXPECT_EQ(transfer->local.first.length, 1U << 10);
  EXPECT_EQ(transfer->local.second.length, 15U << 10);
}

TEST(StreamSender, LimitsATransferToTheFreeBuffer) {
  StreamSender sender(Config(), 100, kTarget);
  EXPECT_EQ(sender.Next(64 << 10)->length, 32U << 10);
}

TEST(StreamSender, RefusesMoreTargetsThanTheListHasEntries) {
  StreamSender sender(Config(), 100, kTarget);
  EXPECT_TRUE(sender.OnTarget(kTarget));
  EXPECT_FALSE(sender.OnTarget(kTarget));
}

TEST(StreamSender, WaitsForATarget) {
  StreamSender sender(Config(), 100, {});
  EXPECT_FALSE(sender.can_send());
}

}  // namespace
}  // namespace verbena::rsockets
