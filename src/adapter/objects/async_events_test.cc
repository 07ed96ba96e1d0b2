#include "adapter/objects/async_events.h"

#include <fcntl.h>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

constexpr Event kGidChange{.type = AsyncEventType::kGidChange};

class AsyncEventsTest : public testing::Test {
 protected:
  EventQueue* Add() {
    EventQueue* const queue = events_.Add(std::move(*EventFile::Open(true)), 2);
    if (queue != nullptr) fcntl(queue->fd(), F_SETFL, O_NONBLOCK);
    return queue;
  }

  AsyncEvents events_{2};
};

TEST_F(AsyncEventsTest, APortEventGoesToEveryQueue) {
  EventQueue* const a = Add();
  EventQueue* const b = Add();
  events_.RaiseForAll(kGidChange);
  EXPECT_EQ(a->Wait(), kGidChange);
  EXPECT_EQ(b->Wait(), kGidChange);
  EXPECT_FALSE(a->Wait().has_value());
  events_.Remove(a);
  events_.RaiseForAll(kGidChange);
  EXPECT_EQ(b->Wait(), kGidChange);
}

TEST_F(AsyncEventsTest, HasALimit) {
  EventQueue* const a = Add();
  EXPECT_NE(Add(), nullptr);
  EXPECT_EQ(Add(), nullptr);
  events_.Remove(a);
  EXPECT_NE(Add(), nullptr);
}

TEST_F(AsyncEventsTest, CountsLostEventsOfRemovedQueuesToo) {
  EventQueue* const a = Add();
  EventQueue* const b = Add();
  for (int i = 0; i < 3; ++i) events_.RaiseForAll(kGidChange);
  EXPECT_EQ(events_.lost(), 2U);
  events_.Remove(a);
  EXPECT_EQ(events_.lost(), 2U);
  b->Raise(kGidChange);
  EXPECT_EQ(events_.lost(), 3U);
}

}  // namespace
}  // namespace verbena::adapter
