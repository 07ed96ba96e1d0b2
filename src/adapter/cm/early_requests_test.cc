#include "adapter/cm/early_requests.h"

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

constexpr wire::IpCmService kService{.protocol = PortSpace::kTcp, .port = 7};
constexpr wire::IpCmService kDatagrams{.protocol = PortSpace::kUdp, .port = 7};
constexpr wire::IpCmService kOther{.protocol = PortSpace::kTcp, .port = 8};

class EarlyRequestsTest : public testing::Test {
 protected:
  static EarlyRequests::Request For(const wire::IpCmService& service) {
    EarlyRequests::Request request;
    request.service = service;
    return request;
  }
  // How long a request waits that finds no listener, and how often it is offered.
  Duration Wait(int* offers = nullptr) {
    const Time begin = now_;
    while (early_.next_time() != Time::Never()) {
      now_ = early_.next_time();
      const auto held = early_.TakeDue(now_);
      if (offers != nullptr) ++*offers;
      if (!early_.HoldAgain(*held, now_)) break;
    }
    return now_ - begin;
  }

  Time now_ = Time(Seconds(10));
  EarlyRequests early_;
};

TEST_F(EarlyRequestsTest, ARequestIsOfferedLessAndLessOftenAndThenRefused) {
  ASSERT_TRUE(early_.Hold(For(kService), now_));
  EXPECT_FALSE(early_.TakeDue(now_));
  int offers = 0;
  EXPECT_EQ(Wait(&offers), EarlyRequests::kListenSoon);
  EXPECT_EQ(offers, 4);  // after 1, 3, 7 and 10 ms
  EXPECT_EQ(early_.next_time(), Time::Never());
}

TEST_F(EarlyRequestsTest, OneForAPortThatHadAListenerWaitsLonger) {
  early_.NoteListener(kService.port, now_);
  now_ = now_ + EarlyRequests::kMomentAgo;
  ASSERT_TRUE(early_.Hold(For(kService), now_));
  int offers = 0;
  EXPECT_EQ(Wait(&offers), EarlyRequests::kListenLikely);
  EXPECT_LE(offers, 10);
  ASSERT_TRUE(early_.Hold(For(kOther), now_));
  EXPECT_EQ(Wait(), EarlyRequests::kListenSoon);
}

// A server of perftest takes its first connection by TCP, whatever the second is.
TEST_F(EarlyRequestsTest, AListenerOfAnyProtocolCounts) {
  early_.NoteListener(kService.port, now_);
  ASSERT_TRUE(early_.Hold(For(kDatagrams), now_));
  EXPECT_EQ(Wait(), EarlyRequests::kListenLikely);
}

TEST_F(EarlyRequestsTest, SoDoesOneForAPortThatThisProcessHasBound) {
  EarlyRequests::Request request = For(kService);
  request.is_forwarded = true;
  ASSERT_TRUE(early_.Hold(request, now_));
  EXPECT_EQ(Wait(), EarlyRequests::kListenLikely);
}

TEST_F(EarlyRequestsTest, ButNotLongAfter) {
  early_.NoteListener(kService.port, now_);
  now_ = now_ + EarlyRequests::kMomentAgo + Nanoseconds(1);
  ASSERT_TRUE(early_.Hold(For(kService), now_));
  EXPECT_EQ(Wait(), EarlyRequests::kListenSoon);
}

TEST_F(EarlyRequestsTest, ThePortsThatHadAListenerLastAreRemembered) {
  early_.NoteListener(kOther.port, now_);
  early_.NoteListener(kService.port, now_);
  early_.NoteListener(kOther.port, now_);
  for (size_t i = 1; i < EarlyRequests::kPortsMax; ++i) {
    early_.NoteListener(static_cast<uint16_t>(100 + i), now_);
  }
  ASSERT_TRUE(early_.Hold(For(kOther), now_));
  EXPECT_EQ(Wait(), EarlyRequests::kListenLikely);
  ASSERT_TRUE(early_.Hold(For(kService), now_));
  EXPECT_EQ(Wait(), EarlyRequests::kListenSoon);
}

TEST_F(EarlyRequestsTest, AListenerMakesTheRequestsForItDue) {
  ASSERT_TRUE(early_.Hold(For(kService), now_));
  ASSERT_TRUE(early_.Hold(For(kOther), now_));
  ASSERT_TRUE(early_.Hold(For(kService), now_));
  early_.OnListen(kService, now_);
  for (int i = 0; i < 2; ++i) {
    const auto held = early_.TakeDue(now_);
    ASSERT_TRUE(held);
    EXPECT_EQ(held->request.service, kService);
  }
  EXPECT_FALSE(early_.TakeDue(now_));
}

TEST_F(EarlyRequestsTest, OnlySoManyWait) {
  for (size_t i = 0; i < EarlyRequests::kMax; ++i) ASSERT_TRUE(early_.Hold(For(kService), now_));
  EXPECT_FALSE(early_.Hold(For(kService), now_));
}

}  // namespace
}  // namespace verbena::adapter
