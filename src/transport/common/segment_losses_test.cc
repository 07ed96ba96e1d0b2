#include "transport/common/segment_losses.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::transport {
namespace {

SegmentPath PathTo(uint32_t last, size_t bytes = 300) {
  return {IpAddress::FromIpv4(Ipv4Address(0x0A4D0001)),
          IpAddress::FromIpv4(Ipv4Address(0x0A4D0000 + last)), bytes};
}

class SegmentLossesTest : public testing::Test {
 protected:
  bool Lose(uint32_t packets = 16) {
    const bool is_new = losses_.OnLost(path_, packets, now_);
    EXPECT_TRUE(losses_.IsConsistent());
    return is_new;
  }
  void Arrive(uint32_t packets) {
    losses_.OnArrived(path_, packets);
    EXPECT_TRUE(losses_.IsConsistent());
  }
  void Wait(Duration duration) {
    now_ = now_ + duration;
    losses_.OnTime(now_);
    EXPECT_TRUE(losses_.IsConsistent());
  }
  [[nodiscard]] bool SendsSingly() const { return losses_.SendsSingly(path_); }

  const SegmentPath path_ = PathTo(2);
  SegmentLosses losses_;
  Time now_;
};

TEST_F(SegmentLossesTest, FourGroupsInARowAreLearnedAndReportedOnce) {
  EXPECT_FALSE(losses_.in_doubt());
  EXPECT_FALSE(Lose());
  EXPECT_TRUE(losses_.in_doubt());
  EXPECT_FALSE(Lose());
  EXPECT_FALSE(Lose());
  EXPECT_FALSE(SendsSingly());
  EXPECT_TRUE(Lose());
  EXPECT_TRUE(SendsSingly());
  EXPECT_FALSE(Lose()) << "what was on its way is no news";
}

TEST_F(SegmentLossesTest, PathsAreLearnedSeparately) {
  for (int i = 0; i < SegmentLosses::kLossesToLearn; ++i) Lose();
  EXPECT_FALSE(losses_.SendsSingly(PathTo(3)));
  EXPECT_FALSE(losses_.SendsSingly({path_.to, path_.from, 300}));
}

// Like a network that forwards small packets as one and segments large ones.
TEST_F(SegmentLossesTest, SizesAreLearnedSeparatelyAndReportedOnce) {
  const auto learn = [&](size_t bytes) {
    bool is_news = false;
    for (int i = 0; i < SegmentLosses::kLossesToLearn; ++i) {
      losses_.OnArrived(PathTo(2, 4'140), 64);
      is_news = losses_.OnLost(PathTo(2, bytes), 16, now_) || is_news;
    }
    EXPECT_TRUE(losses_.SendsSingly(PathTo(2, bytes)));
    return is_news;
  };
  EXPECT_TRUE(learn(300));
  EXPECT_TRUE(losses_.SendsSingly(PathTo(2, 40)));
  EXPECT_FALSE(losses_.SendsSingly(PathTo(2, 1'068)));
  EXPECT_FALSE(losses_.SendsSingly(PathTo(2, 4'140)));
  EXPECT_FALSE(learn(556)) << "the user knows";
}

TEST_F(SegmentLossesTest, EachPathMtuHasItsOwnSizeClass) {
  uint8_t expected = 0;
  for (const size_t mtu : {256U, 512U, 1024U, 2048U, 4096U}) {
    EXPECT_EQ(SegmentPath::SizeClassOf(mtu + 12), expected) << mtu;
    EXPECT_EQ(SegmentPath::SizeClassOf(mtu + 64), expected) << mtu;
    ++expected;
  }
  EXPECT_EQ(SegmentPath::SizeClassOf(0), 0);
}

TEST_F(SegmentLossesTest, AGroupThatArrivesResetsTheCount) {
  for (int i = 0; i < 20; ++i) {
    for (int lost = 1; lost < SegmentLosses::kLossesToLearn; ++lost) Lose();
    Arrive(16);
    EXPECT_FALSE(losses_.in_doubt());
  }
  EXPECT_FALSE(SendsSingly());
}

TEST_F(SegmentLossesTest, SmallGroupsThatArriveDoNotClearLargeOnes) {
  Lose(16);
  Lose(14);
  Arrive(13);
  Lose(20);
  EXPECT_TRUE(Lose(40));
}

TEST_F(SegmentLossesTest, DoubtExpires) {
  Lose();
  Wait(Seconds(50));
  Lose();
  Wait(SegmentLosses::kDoubtFor);
  EXPECT_FALSE(losses_.in_doubt());
  for (int lost = 1; lost < SegmentLosses::kLossesToLearn; ++lost) EXPECT_FALSE(Lose());
}

// A path that was degraded by mistake gets segments again after a while, and they clear it.
TEST_F(SegmentLossesTest, SegmentsAreTriedAgainAndClearThePath) {
  for (int i = 0; i < SegmentLosses::kLossesToLearn; ++i) Lose();
  Wait(SegmentLosses::kSingleFor - Nanoseconds(1));
  EXPECT_TRUE(SendsSingly());
  Wait(Nanoseconds(1));
  EXPECT_FALSE(SendsSingly());
  Arrive(16);
  EXPECT_FALSE(losses_.in_doubt());
}

TEST_F(SegmentLossesTest, AfterATrialOneLossIsEnoughAndTheTimeDoubles) {
  for (int i = 0; i < SegmentLosses::kLossesToLearn; ++i) Lose();
  Duration expected = SegmentLosses::kSingleFor;
  for (int trial = 0; trial < 10; ++trial) {
    Wait(expected);
    ASSERT_FALSE(SendsSingly()) << trial;
    EXPECT_FALSE(Lose()) << "it is reported once";
    ASSERT_TRUE(SendsSingly()) << trial;
    expected = std::min(expected * 2, SegmentLosses::kSingleForMax);
    Wait(expected - Nanoseconds(1));
    ASSERT_TRUE(SendsSingly()) << trial;
    now_ = now_ + Nanoseconds(1) - expected;
  }
  EXPECT_EQ(expected, SegmentLosses::kSingleForMax);
}

TEST_F(SegmentLossesTest, AChangeOfAddressesClearsAllPaths) {
  for (int i = 0; i < SegmentLosses::kLossesToLearn; ++i) Lose();
  losses_.Clear();
  EXPECT_FALSE(SendsSingly());
  EXPECT_FALSE(losses_.in_doubt());
  EXPECT_TRUE(losses_.IsConsistent());
}

TEST_F(SegmentLossesTest, TheNewestPathReplacesAnOldOne) {
  for (uint32_t last = 0; last < 10 * SegmentLosses::kPaths; ++last) {
    for (int i = 0; i < SegmentLosses::kLossesToLearn; ++i)
      static_cast<void>(losses_.OnLost(PathTo(last), 8, now_));
    ASSERT_TRUE(losses_.SendsSingly(PathTo(last)));
    ASSERT_TRUE(losses_.IsConsistent());
  }
}

// A path with random loss of 2 % loses one group in ten (four packets and the acknowledgement).
// Most groups arrive, so the path is degraded for a small part of the time.
TEST_F(SegmentLossesTest, RandomLossDegradesAPathForASmallPartOfTheTime) {
  Random random(7);
  uint64_t single = 0;
  constexpr uint64_t kGroups = 500'000;
  for (uint64_t i = 0; i < kGroups; ++i) {
    now_ = now_ + Milliseconds(10);
    losses_.OnTime(now_);
    if (SendsSingly()) {
      ++single;
    } else if (random.Chance(1, 10)) {
      static_cast<void>(losses_.OnLost(path_, 4, now_));
    } else {
      losses_.OnArrived(path_, 4);
    }
  }
  EXPECT_LT(single, kGroups / 4);
}

}  // namespace
}  // namespace verbena::transport
