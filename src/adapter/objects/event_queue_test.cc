#include "adapter/objects/event_queue.h"

#include <fcntl.h>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

Event Fatal(uint32_t qp) { return {.type = AsyncEventType::kQpFatal, .qp = QpNumber(qp)}; }

class EventQueueTest : public testing::Test {
 protected:
  void SetUp() override { fcntl(events_.fd(), F_SETFL, O_NONBLOCK); }

  EventQueue events_{std::move(*EventFile::Open(true)), 2};
};

TEST_F(EventQueueTest, AreTakenInOrder) {
  EXPECT_FALSE(events_.Wait().has_value());
  events_.Raise(Fatal(1));
  events_.Raise(Fatal(2));
  EXPECT_EQ(events_.Wait(), Fatal(1));
  EXPECT_EQ(events_.Wait(), Fatal(2));
  EXPECT_FALSE(events_.Wait().has_value());
}

TEST_F(EventQueueTest, TheNewestEventIsLostWhenTheQueueIsFull) {
  for (uint32_t qp = 1; qp <= 5; ++qp) events_.Raise(Fatal(qp));
  EXPECT_EQ(events_.lost(), 3U);
  EXPECT_EQ(events_.Wait(), Fatal(1));
  EXPECT_EQ(events_.Wait(), Fatal(2));
  EXPECT_FALSE(events_.Wait().has_value());
}

TEST_F(EventQueueTest, TryWaitTakesTheOldestOrNothing) {
  EXPECT_EQ(events_.TryWait(), std::nullopt);
  events_.Raise(Fatal(1));
  events_.Raise(Fatal(2));
  EXPECT_EQ(events_.TryWait(), Fatal(1));
  EXPECT_EQ(events_.TryWait(), Fatal(2));
  EXPECT_EQ(events_.TryWait(), std::nullopt);
}

TEST_F(EventQueueTest, DropsTheEventsOfADestroyedObject) {
  events_.Raise(Fatal(1));
  events_.Raise(Fatal(2));
  events_.Forget([](const Event& event) { return event.qp == QpNumber(1); });
  EXPECT_EQ(events_.Wait(), Fatal(2));
  EXPECT_FALSE(events_.Wait().has_value());
}

// Objects of a closed context may still name the queue, and raise events.
TEST_F(EventQueueTest, AClosedOneTakesNothingAndHasNoDescriptor) {
  events_.Raise(Fatal(1));
  const int fd = events_.fd();
  events_.Close();
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
  EXPECT_EQ(events_.fd(), -1);
  events_.Raise(Fatal(2));
  events_.Forget([](const Event&) { return true; });
  EXPECT_EQ(events_.lost(), 0U);
}

}  // namespace
}  // namespace verbena::adapter
