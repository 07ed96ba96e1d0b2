// Receivers without posted receives: all senders wait, and give up after exactly rnr_retry retries.
// Once receives are posted, every message arrives exactly once.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/pair_fixture.h"

namespace verbena::scenario {
namespace {

class RnrTest : public PairTest {
 protected:
  void Begin(uint8_t rnr_retry, Duration min_rnr_timer) {
    RcSpec spec;
    spec.config.rnr_retry = rnr_retry;
    spec.config.min_rnr_timer = wire::RnrTimerAtLeast(min_rnr_timer);
    Connect(spec, spec);
    net_.SetLink([this](const Passing& passing) {
      if (passing.is_request()) sent_at_.push_back(net_.now());
      return LinkAction::Pass();
    });
  }

  std::vector<Time> sent_at_;  // of each request packet
};

class RnrRetryTest : public RnrTest, public testing::WithParamInterface<uint8_t> {};

// IBA 9.7.5.2.8: rnr_retry counts the retries, so the message is sent rnr_retry + 1 times.
TEST_P(RnrRetryTest, GivesUpAfterExactlyRnrRetryRetries) {
  Begin(GetParam(), Microseconds(100));
  net_.Post(a(), SendOf(1), {node_a_.Local(0, 100)});
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(StatusesOf(a().Sent()), std::vector{CompletionStatus::kRnrRetryExceeded});
  EXPECT_EQ(sent_at_.size(), GetParam() + 1u);
  EXPECT_EQ(a().counters().rnr_naks, GetParam() + 1u);
  EXPECT_EQ(a().qp->state(), QpState::kErr);
  EXPECT_EQ(b().qp->state(), QpState::kRts) << "the responder stays connected";
}

TEST_P(RnrRetryTest, SucceedsWithTheLastRetry) {
  Begin(GetParam(), Microseconds(100));
  net_.Post(a(), SendOf(1), {node_a_.Local(0, 100)});
  net_.RunUntil([&] { return a().counters().rnr_naks == GetParam(); }, Seconds(1));
  net_.PostReceive(b(), 11, {node_b_.Local(0, 100)});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(a().Sent(), {1});
  ExpectSuccess(b().Received(), {11});
}

TEST_P(RnrRetryTest, EachMessageHasAllRetries) {
  Begin(GetParam(), Microseconds(100));
  for (uint64_t id = 1; id <= 3; ++id) {
    net_.Post(a(), SendOf(id), {node_a_.Local(0, 100)});
    const uint64_t before = a().counters().rnr_naks;
    net_.RunUntil([&] { return a().counters().rnr_naks == before + GetParam(); }, Seconds(1));
    net_.PostReceive(b(), id, {node_b_.Local(0, 100)});
    ASSERT_TRUE(net_.RunUntilIdle());
    ExpectSuccess(a().Sent(), {id});
  }
  ExpectSuccess(b().Received(), {1, 2, 3});
}

INSTANTIATE_TEST_SUITE_P(Counts, RnrRetryTest, testing::Range<uint8_t>(0, 7));

TEST_F(RnrTest, SevenRetriesAreUnlimited) {
  Begin(7, Microseconds(100));
  net_.Post(a(), SendOf(1), {node_a_.Local(0, 100)});
  net_.RunFor(Milliseconds(100));
  EXPECT_GT(a().counters().rnr_naks, 500u);
  EXPECT_TRUE(a().Sent().empty());
  net_.PostReceive(b(), 11, {node_b_.Local(0, 100)});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(a().Sent(), {1});
  EXPECT_EQ(net_.timeouts(), 0u);
}

class RnrTimerTest : public RnrTest, public testing::WithParamInterface<uint8_t> {};

// IBA 9.7.5.2.8: the requester waits at least for the time in the NAK. Verbena waits exactly that
// long.
TEST_P(RnrTimerTest, WaitsExactlyForTheTimeInTheNak) {
  const Duration wait = wire::DurationOf(wire::RnrTimer(GetParam()));
  Begin(3, wait);
  net_.Post(a(), SendOf(1), {node_a_.Local(0, 100)});
  ASSERT_TRUE(net_.RunUntilIdle());
  ASSERT_EQ(sent_at_.size(), 4u);
  for (size_t i = 1; i < sent_at_.size(); ++i) {
    EXPECT_EQ(sent_at_[i] - sent_at_[i - 1], wait + 2 * RcNet::kDelay);
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, RnrTimerTest, testing::Values(1, 5, 14, 31, 0));

// 500 senders with four messages each, and one receiver without posted receives.
class RnrStormTest : public testing::Test {
 protected:
  static constexpr size_t kConnections = 500;
  static constexpr uint64_t kMessages = 4;
  static constexpr uint32_t kBytes = 16;

  RnrStormTest()
      : senders_(net_.AddNode(kConnections * kMessages * kBytes / RcNode::kPage + 1)),
        receiver_(net_.AddNode(kConnections * kMessages * kBytes / RcNode::kPage + 1)) {
    RcSpec spec;
    spec.sends = {.capacity = 4, .sges_max = 1};
    spec.receives = {.capacity = 4, .sges_max = 1};
    spec.completions = 4;
    for (size_t i = 0; i < kConnections; ++i) {
      const auto [a, b] = net_.Connect(senders_, receiver_, spec, spec);
      senders_ends_.push_back(&a);
      receiver_ends_.push_back(&b);
      for (uint64_t m = 0; m < kMessages; ++m) {
        senders_.SetWord(OffsetOf(i, m), i << 8 | m);
        net_.Post(a, SendOf(m), {senders_.Local(OffsetOf(i, m), kBytes)});
      }
    }
  }
  static uint64_t OffsetOf(size_t i, uint64_t m) { return (i * kMessages + m) * kBytes; }

  RcNet net_;
  RcNode& senders_;
  RcNode& receiver_;
  std::vector<RcEnd*> senders_ends_, receiver_ends_;
};

TEST_F(RnrStormTest, EveryMessageArrivesOnce) {
  net_.RunFor(Milliseconds(5));
  for (RcEnd* end : senders_ends_) ASSERT_GT(end->counters().rnr_naks, 10u);
  // Posts the receives a few at a time.
  for (uint64_t m = 0; m < kMessages; ++m) {
    for (size_t i = 0; i < kConnections; ++i) {
      net_.PostReceive(*receiver_ends_[i], m, {receiver_.Local(OffsetOf(i, m), kBytes)});
      if (i % 50 == 0) net_.RunFor(Microseconds(30));
    }
  }
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(net_.timeouts(), 0u);
  for (size_t i = 0; i < kConnections; ++i) {
    const std::vector<uint64_t> all = {0, 1, 2, 3};
    ASSERT_EQ(IdsOf(senders_ends_[i]->Sent()), all);
    ASSERT_EQ(IdsOf(receiver_ends_[i]->Received()), all);
    for (uint64_t m = 0; m < kMessages; ++m) {
      ASSERT_EQ(receiver_.WordAt(OffsetOf(i, m)), i << 8 | m);
    }
  }
}

}  // namespace
}  // namespace verbena::scenario
