#include "transport/common/async_event.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

constexpr AsyncEventType kTypes[] = {
    AsyncEventType::kCommunicationEstablished,
    AsyncEventType::kSendQueueDrained,
    AsyncEventType::kLastWqeReached,
    AsyncEventType::kQpFatal,
    AsyncEventType::kQpRequestError,
    AsyncEventType::kQpAccessError,
    AsyncEventType::kCqError,
    AsyncEventType::kSrqLimitReached,
    AsyncEventType::kGidChange,
};

TEST(AsyncEventTest, EachTypeHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const AsyncEventType type : kTypes) {
    EXPECT_STRNE(NameOf(type), "?");
    EXPECT_TRUE(names.insert(NameOf(type)).second) << NameOf(type);
  }
}

TEST(AsyncEventTest, NamesAreThoseOfTheVerbs) {
  EXPECT_STREQ(NameOf(AsyncEventType::kCommunicationEstablished), "communication established");
  EXPECT_STREQ(NameOf(AsyncEventType::kLastWqeReached), "last WQE reached");
}

TEST(AsyncEventTest, AnUnknownValueHasNoName) {
  EXPECT_STREQ(NameOf(static_cast<AsyncEventType>(0xFF)), "?");
}

TEST(AsyncEventTest, EventsCompareByTypeAndQueuePair) {
  const RaisedEvent event{AsyncEventType::kQpFatal, QpNumber(7)};
  EXPECT_EQ(event, (RaisedEvent{AsyncEventType::kQpFatal, QpNumber(7)}));
  EXPECT_NE(event, (RaisedEvent{AsyncEventType::kQpFatal, QpNumber(8)}));
  EXPECT_NE(event, (RaisedEvent{AsyncEventType::kCqError, QpNumber(7)}));
}

}  // namespace
}  // namespace verbena::transport
