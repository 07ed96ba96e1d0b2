#include "rdmacm/rsocket/accept_queue.h"

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

TEST(AcceptQueue, ReturnsConnectionsInOrder) {
  AcceptQueue<int> queue(4);
  const auto a = std::make_shared<int>(1), b = std::make_shared<int>(2);
  queue.BeginHandshake(a);
  queue.BeginHandshake(b);
  EXPECT_TRUE(queue.empty());
  queue.EndHandshake(b, true);
  queue.EndHandshake(a, true);
  EXPECT_EQ(queue.Pop(), b);
  EXPECT_EQ(queue.Pop(), a);
  EXPECT_TRUE(queue.empty());
}

TEST(AcceptQueue, DropsAConnectionWhoseHandshakeFails) {
  AcceptQueue<int> queue(4);
  const auto a = std::make_shared<int>(1);
  queue.BeginHandshake(a);
  queue.EndHandshake(a, false);
  queue.EndHandshake(a, true);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(a.use_count(), 1);
}

TEST(AcceptQueue, IsFullAtTheBacklog) {
  AcceptQueue<int> queue(2);
  const auto a = std::make_shared<int>(1), b = std::make_shared<int>(2);
  queue.BeginHandshake(a);
  EXPECT_FALSE(queue.full());
  queue.EndHandshake(a, true);
  queue.BeginHandshake(b);
  EXPECT_TRUE(queue.full());
  EXPECT_EQ(queue.Pop(), a);
  EXPECT_FALSE(queue.full());
}

TEST(AcceptQueue, HasRoomForAtLeastOneConnection) {
  AcceptQueue<int> queue(0);
  EXPECT_FALSE(queue.full());
}

TEST(AcceptQueue, TakeAllReturnsAllConnections) {
  AcceptQueue<int> queue(4);
  const auto a = std::make_shared<int>(1), b = std::make_shared<int>(2);
  queue.BeginHandshake(a);
  queue.BeginHandshake(b);
  queue.EndHandshake(b, true);
  EXPECT_EQ(queue.TakeAll().size(), 2U);
  EXPECT_TRUE(queue.TakeAll().empty());
}

}  // namespace
}  // namespace verbena::rsockets
