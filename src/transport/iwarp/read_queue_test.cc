#include "transport/iwarp/read_queue.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using wire::DdpMsn;

void Deliver(ReadQueue& queue, uint32_t msn) {
  ASSERT_EQ(queue.Check(DdpMsn(msn), true), std::nullopt);
  queue.Deliver({.msn = DdpMsn(msn), .sent = msn});
  ASSERT_TRUE(queue.IsConsistent());
}

TEST(ReadQueueTest, RequestsAreAnsweredInOrder) {
  ReadQueue queue(3);
  EXPECT_EQ(queue.front(), nullptr);
  for (uint32_t msn = 1; msn <= 3; ++msn) Deliver(queue, msn);
  EXPECT_EQ(queue.size(), 3);
  for (uint32_t msn = 1; msn <= 3; ++msn) {
    ASSERT_NE(queue.front(), nullptr);
    EXPECT_EQ(queue.front()->sent, msn);
    queue.Pop();
  }
  EXPECT_TRUE(queue.empty());
}

TEST(ReadQueueTest, TheNumbersOfTheStreamHaveNoGap) {
  ReadQueue queue(3);
  EXPECT_EQ(queue.Check(DdpMsn(0), true), StreamError::kMsnRange);
  EXPECT_EQ(queue.Check(DdpMsn(2), true), StreamError::kMsnRange);
  Deliver(queue, 1);
  EXPECT_EQ(queue.Check(DdpMsn(1), true), StreamError::kMsnRange);
}

TEST(ReadQueueTest, MoreThanWereNegotiatedHaveNoEntry) {
  ReadQueue queue(2);
  Deliver(queue, 1);
  Deliver(queue, 2);
  EXPECT_EQ(queue.Check(DdpMsn(3), true), StreamError::kNoReadEntry);
  queue.Pop();
  EXPECT_EQ(queue.Check(DdpMsn(3), true), std::nullopt);
  EXPECT_EQ(ReadQueue(0).Check(DdpMsn(1), true), StreamError::kNoReadEntry);
}

// Row B10: ahead of the stream, every number that an entry is free for is in range.
TEST(ReadQueueTest, ARequestAheadOfTheStreamNeedsAnEntry) {
  ReadQueue queue(3);
  Deliver(queue, 1);
  EXPECT_EQ(queue.Check(DdpMsn(1), false), StreamError::kMsnRange);
  EXPECT_EQ(queue.Check(DdpMsn(2), false), std::nullopt);
  EXPECT_EQ(queue.Check(DdpMsn(3), false), std::nullopt);
  EXPECT_EQ(queue.Check(DdpMsn(4), false), StreamError::kMsnRange);
  EXPECT_EQ(queue.Check(DdpMsn(0x80000000), false), StreamError::kMsnRange);
}

TEST(ReadQueueTest, EntriesAreUsedAgain) {
  ReadQueue queue(3);
  for (uint32_t msn = 1; msn < 1000; ++msn) {
    Deliver(queue, msn);
    EXPECT_EQ(queue.front()->sent, msn);
    queue.Pop();
  }
}

}  // namespace
}  // namespace verbena::transport
