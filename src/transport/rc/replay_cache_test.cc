#include "transport/rc/replay_cache.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

Reply ReadOf(uint32_t psn, uint32_t packets) {
  Reply reply;
  reply.first = Psn(psn);
  reply.packet_count = packets;
  reply.length = packets * 256;
  return reply;
}

void Send(Reply& reply) {
  while (reply.is_pending()) reply.Advance();
}

TEST(ReplayCacheTest, WithoutCapacityThereIsNoRoom) {
  ReplayCache cache(0);
  EXPECT_FALSE(cache.HasRoom());
  EXPECT_FALSE(cache.has_pending());
  EXPECT_EQ(cache.Find(Psn(0)), nullptr);
}

TEST(ReplayCacheTest, RepliesAreSentInOrder) {
  ReplayCache cache(2);
  cache.Add(ReadOf(1, 2));
  cache.Add(ReadOf(3, 1));
  ASSERT_EQ(cache.FirstPending()->first, Psn(1));
  Send(*cache.FirstPending());
  ASSERT_EQ(cache.FirstPending()->first, Psn(3));
  Send(*cache.FirstPending());
  EXPECT_EQ(cache.FirstPending(), nullptr);
  EXPECT_TRUE(cache.IsConsistent());
}

TEST(ReplayCacheTest, ThereIsRoomOnceTheOldestResponseWasSent) {
  ReplayCache cache(2);
  cache.Add(ReadOf(1, 1));
  cache.Add(ReadOf(2, 1));
  EXPECT_FALSE(cache.HasRoom());
  Send(*cache.Find(Psn(2)));
  EXPECT_FALSE(cache.HasRoom());  // the oldest would be replaced
  Send(*cache.Find(Psn(1)));
  EXPECT_TRUE(cache.HasRoom());
  cache.Add(ReadOf(3, 1));
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.Find(Psn(1)), nullptr);
  EXPECT_NE(cache.Find(Psn(2)), nullptr);
}

TEST(ReplayCacheTest, ALateDuplicateTakesNoRoom) {
  ReplayCache cache(1);
  cache.Add(ReadOf(1, 2));
  Send(*cache.FirstPending());
  cache.Find(Psn(1))->Answer(0, 2, 512);
  EXPECT_TRUE(cache.has_pending());
  ASSERT_TRUE(cache.HasRoom());
  cache.Add(ReadOf(3, 1));
  EXPECT_EQ(cache.FirstPending()->first, Psn(3));
  EXPECT_FALSE(cache.HasRoom());
}

TEST(ReplayCacheTest, AnOlderResponseThatIsDueAgainComesFirst) {
  ReplayCache cache(3);
  for (const uint32_t first : {10u, 11u, 12u}) cache.Add(ReadOf(first, 1));
  while (Reply* const reply = cache.FirstPending()) Send(*reply);
  cache.Find(Psn(11))->Answer(0, 1, 256);
  ASSERT_EQ(cache.FirstPending()->first, Psn(11));
  EXPECT_TRUE(cache.IsConsistent());
  cache.Add(ReadOf(13, 1));  // in the place of the first
  ASSERT_EQ(cache.FirstPending()->first, Psn(11));
  Send(*cache.FirstPending());
  EXPECT_EQ(cache.FirstPending()->first, Psn(13));
  cache.Find(Psn(12))->TakeBack(0);
  EXPECT_EQ(cache.FirstPending()->first, Psn(12));
  EXPECT_TRUE(cache.IsConsistent());
}

TEST(ReplayCacheTest, FindsByAnyPsnOfTheAnswerAcrossTheWrap) {
  ReplayCache cache(2);
  cache.Add(ReadOf(wire::kMax24, 3));
  for (const uint32_t psn : {wire::kMax24, 0u, 1u}) EXPECT_NE(cache.Find(Psn(psn)), nullptr);
  EXPECT_EQ(cache.Find(Psn(wire::kMax24 - 1)), nullptr);
  EXPECT_EQ(cache.Find(Psn(2)), nullptr);
}

TEST(ReplayCacheTest, FindsTheNewestEntryOfAPsn) {
  ReplayCache cache(2);
  cache.Add(ReadOf(7, 1));
  cache.Add(ReadOf(7, 4));
  EXPECT_EQ(cache.Find(Psn(7))->packet_count, 4u);
}

TEST(ReplayCacheTest, ReplaysAPartOfAResponse) {
  ReplayCache cache(1);
  cache.Add(ReadOf(10, 4));
  Send(*cache.FirstPending());
  cache.Find(Psn(12))->Answer(2, 2, 1024);
  EXPECT_EQ(cache.FirstPending()->next_psn(), Psn(12));
  EXPECT_TRUE(cache.IsConsistent());
  cache.DropPending();
  EXPECT_FALSE(cache.has_pending());
}

TEST(ReplayCacheTest, KnowsWhichEntryIsReplacedNext) {
  ReplayCache cache(2);
  EXPECT_EQ(ReplayCache(0).Leaving(), nullptr);
  cache.Add(ReadOf(10, 1));
  EXPECT_EQ(cache.Leaving(), nullptr);
  cache.Add(ReadOf(11, 1));
  ASSERT_NE(cache.Leaving(), nullptr);
  EXPECT_EQ(cache.Leaving()->first, Psn(10));
}

TEST(ReplayCacheTest, ReturnsEachHeldKeyOnce) {
  ReplayCache cache(3);
  for (const uint32_t first : {10u, 11u, 12u}) {
    cache.Add(ReadOf(first, 1));
    cache.Find(Psn(first))->key = Key(first);
    cache.Find(Psn(first))->holds_key = first != 11;
  }
  EXPECT_EQ(cache.TakeHeldKey(), Key(10));
  EXPECT_EQ(cache.TakeHeldKey(), Key(12));
  EXPECT_EQ(cache.TakeHeldKey(), std::nullopt);
}

TEST(ReplayCacheTest, ATakenBackResponseWasNotSent) {
  ReplayCache cache(1);
  cache.Add(ReadOf(10, 3));
  Reply& reply = *cache.Find(Psn(10));
  Send(reply);
  EXPECT_TRUE(cache.HasRoom());
  reply.TakeBack(1);
  EXPECT_EQ(reply.next, 1u);
  EXPECT_FALSE(cache.HasRoom());
  reply.TakeBack(2);
  EXPECT_EQ(reply.next, 1u) << "it is taken back already";
  Send(reply);
  // A repeat that is taken back does not reset was_sent.
  reply.Answer(0, 3, 3 * 256);
  Send(reply);
  reply.TakeBack(0);
  EXPECT_TRUE(cache.HasRoom());
  EXPECT_TRUE(cache.IsConsistent());
}

TEST(ReplayCacheTest, RepetitionsWithoutProgressAreBounded) {
  Reply reply = ReadOf(10, 8);
  reply.Answer(0, 8, 2048);
  for (int i = 0; i < Reply::kRepeatsMax; ++i) EXPECT_TRUE(reply.MayRepeat(0));
  EXPECT_FALSE(reply.MayRepeat(0));
  EXPECT_TRUE(reply.MayRepeat(3));
}

}  // namespace
}  // namespace verbena::transport
