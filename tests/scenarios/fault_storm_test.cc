// A thousand queue pairs whose pages are absent on one side or on both: each gets its pages and
// continues independently. No retransmission timer expires.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/pair_fixture.h"

namespace verbena::scenario {
namespace {

struct Sides {
  bool requester;
  bool responder;
};
std::string NameOf(const Sides& sides) {
  if (sides.requester && sides.responder) return "Both";
  return sides.requester ? "Requester" : "Responder";
}
Time WhenOf(const Completion& completion) { return Time(Nanoseconds(completion.timestamp_ns)); }

constexpr Sides kAllSides[] = {{true, false}, {false, true}, {true, true}};

class FaultStormTest : public testing::TestWithParam<Sides> {
 protected:
  static constexpr size_t kConnections = 1000;
  static constexpr uint64_t kPage = RcNode::kPage;
  // Pages of a connection on each side: one for reads, one for writes, one for sends and receives.
  static constexpr uint64_t kPagesEach = 3;
  static constexpr uint32_t kLength = 2500;
  // The pager of each machine serves one request after the other, this long each.
  static constexpr Duration kFetch = Microseconds(10);

  FaultStormTest()
      : node_a_(net_.AddNode(kConnections * kPagesEach)),
        node_b_(net_.AddNode(kConnections * kPagesEach)) {
    RcSpec spec;
    spec.sends = {.capacity = 4, .sges_max = 1};
    spec.receives = {.capacity = 1, .sges_max = 1};
    spec.completions = 4;
    // The pager serves all faults one after the other: the last read must not time out before its
    // pages are present.
    spec.config.ack_timeout = Milliseconds(200);
    for (size_t i = 0; i < kConnections; ++i) {
      const auto [a, b] = net_.Connect(node_a_, node_b_, spec, spec);
      ends_.emplace_back(&a, &b);
      for (uint64_t page = 0; page < kPagesEach; ++page) {
        node_a_.Fill(PageOf(i, page) * kPage, kLength, static_cast<uint8_t>(i + page));
        node_b_.Fill(PageOf(i, page) * kPage, kLength, static_cast<uint8_t>(i + page + 100));
      }
    }
    net_.SetPager([this](const RcEnd& end, const transport::PageRequest&) {
      ++faults_;
      Time& free_at = free_at_[&end.node];
      free_at = std::max(free_at, net_.now()) + kFetch;
      return PageAction{.after = free_at - net_.now()};
    });
  }
  static uint64_t PageOf(size_t i, uint64_t page) { return i * kPagesEach + page; }

  void PostAll() {
    for (size_t i = 0; i < kConnections; ++i) {
      const auto [a, b] = ends_[i];
      const auto at = [&](uint64_t page) { return PageOf(i, page) * kPage; };
      net_.PostReceive(*b, 1, {node_b_.Local(at(2), kLength)});
      net_.Post(*a, ReadOf(1, node_b_.Remote(at(0))), {node_a_.Local(at(0), kLength)});
      net_.Post(*a, WriteOf(2, node_b_.Remote(at(1))), {node_a_.Local(at(1), kLength)});
      net_.Post(*a, SendOf(3), {node_a_.Local(at(2), kLength)});
    }
  }
  void ExpectAllDone() {
    for (size_t i = 0; i < kConnections; ++i) {
      const auto [a, b] = ends_[i];
      const auto same = [&](uint64_t page) {
        const uint64_t at = PageOf(i, page) * kPage;
        return node_a_.Read(at, kLength) == node_b_.Read(at, kLength);
      };
      ASSERT_EQ(IdsOf(a->Sent()), (std::vector<uint64_t>{1, 2, 3}));
      ASSERT_EQ(IdsOf(b->Received()), (std::vector<uint64_t>{1}));
      ASSERT_TRUE(same(0) && same(1) && same(2)) << "connection " << i;
      ASSERT_EQ(*node_a_.At(PageOf(i, 0) * kPage), static_cast<std::byte>(i + 100))
          << "by the read";
    }
  }

  RcNet net_;
  RcNode& node_a_;
  RcNode& node_b_;
  std::vector<std::pair<RcEnd*, RcEnd*>> ends_;
  std::map<const RcNode*, Time> free_at_;
  uint64_t faults_ = 0;
};

TEST_P(FaultStormTest, NoTimerExpires) {
  if (GetParam().requester) node_a_.Evict(0, kConnections * kPagesEach);
  if (GetParam().responder) node_b_.Evict(0, kConnections * kPagesEach);
  PostAll();
  const Time start = net_.now();
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(net_.timeouts(), 0u);
  // Each page is requested once, no matter how many packets wait for it.
  const uint64_t sides = GetParam().requester && GetParam().responder ? 2 : 1;
  EXPECT_EQ(faults_, sides * kConnections * kPagesEach);
  // The total time is the time of the page-ins: both machines page in at the same time, and an
  // unsolicited acknowledgement ends the wait for an RNR timer.
  EXPECT_LT(net_.now() - start, kFetch * static_cast<int64_t>(faults_) + Milliseconds(1));
  ExpectAllDone();
}

INSTANTIATE_TEST_SUITE_P(Sides, FaultStormTest, testing::ValuesIn(kAllSides),
                         [](const auto& row) { return NameOf(row.param); });

// ---- "Packet damming": a read that is posted while another waits for pages must not be lost with
// it until a timer expires.

struct Damming {
  Sides sides;
  int64_t posted_after_us;  // after the first read
};

class DammingTest : public PairTest, public testing::WithParamInterface<Damming> {};

TEST_P(DammingTest, AReadBehindAFaultingOneDoesNotWaitForATimer) {
  RcSpec spec;
  spec.config.ack_timeout = Milliseconds(500);
  Connect(spec, spec);
  if (GetParam().sides.requester) node_a_.Evict(0, 2);
  if (GetParam().sides.responder) node_b_.Evict(0, 2);
  const Time start = net_.now();
  net_.Post(a(), ReadOf(1, node_b_.Remote(0)), {node_a_.Local(0, 100)});
  net_.RunFor(Microseconds(GetParam().posted_after_us));
  net_.Post(a(), ReadOf(2, node_b_.Remote(kPage)), {node_a_.Local(kPage, 100)});
  ASSERT_TRUE(net_.RunUntilIdle());
  const auto completions = a().Sent();
  ExpectSuccess(completions, {1, 2});
  EXPECT_EQ(net_.timeouts(), 0u);
  // At most two faults on either side, of 100 microseconds, and a few round trips.
  EXPECT_LT(WhenOf(completions.back()) - start, Microseconds(500));
  EXPECT_EQ(node_a_.Read(0, 100), node_b_.Read(0, 100));
  EXPECT_EQ(node_a_.Read(kPage, 100), node_b_.Read(kPage, 100));
}

std::vector<Damming> AllDamming() {
  std::vector<Damming> rows;
  for (const Sides& sides : kAllSides) {
    for (int64_t after = 0; after <= 230; after += 10) rows.push_back({sides, after});
  }
  return rows;
}
INSTANTIATE_TEST_SUITE_P(Posted, DammingTest, testing::ValuesIn(AllDamming()), [](const auto& row) {
  return NameOf(row.param.sides) + "After" + std::to_string(row.param.posted_after_us);
});

// ---- "Flood": retransmissions during a page-in are bounded.

class FloodTest : public PairTest {
 protected:
  static constexpr uint32_t kPackets = 8;
  static constexpr uint32_t kLength = kPackets * 1024;
  static constexpr Duration kPending = Milliseconds(20);

  // Local page faults stop the timer of the requester, so it may be short.
  FloodTest() {
    Begin(kPending / 4);
    net_.SetPager([](const RcEnd&, const transport::PageRequest&) { return PageAction::Hold(); });
    net_.SetLink([this](const Passing& passing) {
      ++(passing.is_request() ? requests_ : answers_);
      return LinkAction::Pass();
    });
  }

  void Begin(Duration ack_timeout) {
    RcSpec spec;
    spec.config.ack_timeout = ack_timeout;
    spec.config.page_service_estimate = Milliseconds(1);
    Connect(spec, spec);
  }

  // Runs until the first fault is pending, and then for kPending. requests_ and answers_ count only
  // packets that are sent while the fault is pending.
  void RunIntoFault() {
    net_.RunFor(Microseconds(50));
    ASSERT_EQ(net_.held_requests().size(), 1u);
    requests_ = answers_ = 0;
    net_.RunFor(kPending);
    ASSERT_EQ(net_.held_requests().size(), 1u) << "the pages are requested once";
  }
  void Finish(const std::vector<uint64_t>& ids) {
    net_.SetPager({});
    net_.AnswerHeld();
    const Time start = net_.now();
    ASSERT_TRUE(net_.RunUntilIdle());
    const auto completions = a().Sent();
    ExpectSuccess(completions, ids);
    EXPECT_LT(WhenOf(completions.back()) - start, Microseconds(500)) << "no timer is involved";
    EXPECT_EQ(net_.timeouts(), 0u);
  }

  uint32_t requests_ = 0;
  uint32_t answers_ = 0;
};

TEST_F(FloodTest, NothingIsSentWhileAReadBufferIsAbsent) {
  node_a_.Evict(0, 2);
  for (uint64_t id = 1; id <= 3; ++id) {
    net_.Post(a(), ReadOf(id, node_b_.Remote(0)), {node_a_.Local(0, kLength)});
  }
  RunIntoFault();
  EXPECT_EQ(requests_, 0u);
  EXPECT_EQ(answers_, 0u);
  requests_ = answers_ = 0;
  Finish({1, 2, 3});
  EXPECT_EQ(requests_, 3u) << "each read is retransmitted once";
}

TEST_F(FloodTest, NothingIsSentWhileTheBytesToSendAreAbsent) {
  node_a_.Evict(0, 2);
  net_.Post(a(), WriteOf(1, node_b_.Remote(0)), {node_a_.Local(0, kLength)});
  RunIntoFault();
  EXPECT_EQ(requests_, 0u);
  Finish({1});
  EXPECT_EQ(requests_, kPackets);
}

TEST_F(FloodTest, NothingIsSentWhileAReadIsHeld) {
  Begin(4 * kPending);  // the responder sends a notice after half of that
  node_b_.Evict(0, 2);
  net_.Post(a(), ReadOf(1, node_b_.Remote(0)), {node_a_.Local(0, kLength)});
  RunIntoFault();
  EXPECT_EQ(requests_, 0u);
  EXPECT_EQ(answers_, 0u);
  Finish({1});
  EXPECT_EQ(requests_, 0u) << "the response is sent without a retransmission";
}

// The bound is one retransmission of the outstanding packets per RNR timer, and one NAK for them.
TEST_F(FloodTest, AWriteIsRetransmittedOncePerRnrTimer) {
  node_b_.Evict(0, 2);
  net_.Post(a(), WriteOf(1, node_b_.Remote(0)), {node_a_.Local(0, kLength)});
  RunIntoFault();
  const Duration timer = wire::DurationOf(wire::RnrTimerAtLeast(Milliseconds(1)));
  const auto rounds = static_cast<uint32_t>(kPending.nanoseconds() / timer.nanoseconds()) + 1;
  EXPECT_LE(answers_, rounds);
  EXPECT_LE(requests_, rounds * kPackets);
  EXPECT_GT(answers_, 0u) << "A does retransmit";
  requests_ = 0;
  Finish({1});
  // The unsolicited acknowledgement ends the wait; the first packet was held.
  EXPECT_EQ(requests_, kPackets - 1);
}

// ---- A page-in that takes longer than a second, and a peer that does not know Verbena's marks.

class SlowPageTest : public PairTest, public testing::WithParamInterface<int> {
 protected:
  SlowPageTest() {
    RcSpec spec;
    spec.config.ack_timeout = Milliseconds(67);
    spec.config.retry_count = 7;
    spec.config.rnr_retry = static_cast<uint8_t>(GetParam());
    Connect(spec, spec);
    net_.SetPager([](const RcEnd&, const transport::PageRequest&) {
      return PageAction{.after = Milliseconds(1'200)};
    });
    net_.SetLink([](const Passing& passing) {
      constexpr size_t kAckRequest = 8;  // the byte of the BTH with AckReq as its top bit
      if (!passing.is_request()) passing.bytes[kAckRequest] &= std::byte{0x7f};
      return LinkAction::Pass();
    });
    node_b_.Evict(0, 2);
  }
};

TEST_P(SlowPageTest, AWriteByAForeignPeerExhaustsNoRetries) {
  net_.Post(a(), WriteOf(1, node_b_.Remote(0)), {node_a_.Local(0, 4'096)});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(a().Sent(), {1});
  EXPECT_EQ(net_.timeouts(), 0u);
}

INSTANTIATE_TEST_SUITE_P(RnrRetries, SlowPageTest, testing::Range(2, 8));

// A read whose page-in takes longer than all retries of the peer.
class HeldReadTest : public PairTest {
 protected:
  void Begin(Duration peer_timeout, Duration own_timeout, Duration pages_take) {
    RcSpec peer, own;
    peer.config.ack_timeout = peer_timeout;
    own.config.ack_timeout = own_timeout;
    peer.config.retry_count = own.config.retry_count = 2;
    Connect(peer, own);
    net_.SetPager([pages_take](const RcEnd&, const transport::PageRequest&) {
      return PageAction{.after = pages_take};
    });
    net_.SetLink([this](const Passing& passing) {
      ++(passing.is_request() ? requests_ : answers_);
      return LinkAction::Pass();
    });
  }
  void ReadAll() {
    net_.Post(a(), ReadOf(1, node_b_.Remote(0)), {node_a_.Local(0, 4 * kPage)});
    ASSERT_TRUE(net_.RunUntilIdle());
    ExpectSuccess(a().Sent(), {1});
    EXPECT_EQ(node_a_.Read(0, 4 * kPage), node_b_.Read(0, 4 * kPage));
  }

  uint32_t requests_ = 0;
  uint32_t answers_ = 0;
};

TEST_F(HeldReadTest, ThePeerGetsANoticeBeforeItsTimerEnds) {
  Begin(Milliseconds(67), Milliseconds(67), Milliseconds(1'200));
  node_b_.Evict(0, 4);
  ReadAll();
  EXPECT_EQ(net_.timeouts(), 0u);
  EXPECT_EQ(requests_, 1u);
  EXPECT_LT(answers_, 16u + 40u) << "one notice per half timeout";
}

TEST_F(HeldReadTest, ThePeerGetsNoticesInTheMiddleOfAResponse) {
  Begin(Milliseconds(67), Milliseconds(67), Milliseconds(1'200));
  node_b_.Evict(2, 2);
  ReadAll();
  EXPECT_EQ(net_.timeouts(), 0u);
}

// The timeouts of the two ends differ: each notice after the first arrives before the timeout.
TEST_F(HeldReadTest, APeerWhoseTimerIsShorterLosesNoRetries) {
  Begin(Milliseconds(5), Milliseconds(200), Milliseconds(1'200));
  node_b_.Evict(0, 4);
  ReadAll();
  EXPECT_LE(net_.timeouts(), 1u);
}

TEST_F(HeldReadTest, ThePeerGetsNoticesForAMinuteAndThenGivesUp) {
  Begin(Milliseconds(67), Milliseconds(67), Seconds(90));
  node_b_.Evict(0, 4);
  const Time start = net_.now();
  net_.Post(a(), ReadOf(1, node_b_.Remote(0)), {node_a_.Local(0, 4 * kPage)});
  ASSERT_TRUE(net_.RunUntilIdle());
  const auto completions = a().Sent();
  EXPECT_EQ(StatusesOf(completions), std::vector{CompletionStatus::kRetryExceeded});
  EXPECT_GT(WhenOf(completions.at(0)) - start, Seconds(60));
  EXPECT_LT(WhenOf(completions.at(0)) - start, Seconds(61));
}

}  // namespace
}  // namespace verbena::scenario
