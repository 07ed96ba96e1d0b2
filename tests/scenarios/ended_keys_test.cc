// Keys that become invalid while the peer uses them: bytes that were transferred before stay, and
// no byte is transferred afterwards.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/pair_fixture.h"

namespace verbena::scenario {
namespace {

constexpr uint32_t kMtu = 1024;

const char* NameOf(WindowType type) {
  constexpr const char* kNames[] = {"Type1", "Type2A", "Type2B"};
  return kNames[static_cast<size_t>(type)];
}

// ---- A window that is invalidated between two packets of one write.

class WindowEndsInMidWriteTest : public PairTest, public testing::WithParamInterface<WindowType> {
 protected:
  static constexpr uint64_t kOffset = 2 * kPage + 100;
  static constexpr uint32_t kLength = 4 * kMtu;

  WindowEndsInMidWriteTest() {
    Connect();
    net_.SetLink([this](const Passing& passing) {
      if (const auto syndrome = SyndromeOf(passing); syndrome && !syndrome->is_ack()) {
        refusals_.push_back(*syndrome);
        refused_psn_ = passing.packet.bth().psn;
      }
      return passing.is_request() && ++requests_ > 1 ? LinkAction::Hold() : LinkAction::Pass();
    });
  }

  uint32_t requests_ = 0;
  std::vector<wire::Syndrome> refusals_;
  Psn refused_psn_;
};

TEST_P(WindowEndsInMidWriteTest, LaterPacketsWriteNothing) {
  const Key window = BindWindow(GetParam(), kOffset, kLength, Access::kRemoteWrite);
  const Bytes before = node_b_.Read(kOffset, kLength);
  net_.Post(a(), WriteOf(1, RcNode::Remote(kOffset, window)), {node_a_.Local(0, kLength)});
  net_.RunFor(Microseconds(8));
  ASSERT_EQ(net_.held_packets(), 3u);
  EXPECT_EQ(node_b_.Read(kOffset, kMtu), node_a_.Read(0, kMtu)) << "the first packet is written";

  if (GetParam() == WindowType::k1) {
    ASSERT_TRUE(node_b_.core.windows.Bind(window, {}, b().who).has_value());
  } else {
    net_.Post(b(), LocalInvalidateOf(50, window), {});
    net_.RunFor(Microseconds(1));
    ExpectSuccess(b().Sent(), {50});
  }
  net_.ReleaseHeld();
  ASSERT_TRUE(net_.RunUntilIdle());

  EXPECT_EQ(node_b_.Read(kOffset, kMtu), node_a_.Read(0, kMtu));
  EXPECT_EQ(node_b_.Read(kOffset + kMtu, kLength - kMtu),
            Bytes(before.begin() + kMtu, before.end()))
      << "later packets are not";
  EXPECT_EQ(refusals_, std::vector{wire::Syndrome::Nak(wire::NakCode::kRemoteAccessError)});
  EXPECT_EQ(refused_psn_, RcSpec{}.first_psn + 1);
  EXPECT_EQ(StatusesOf(a().Sent()), std::vector{CompletionStatus::kRemoteAccessError});
  EXPECT_EQ(a().qp->state(), QpState::kErr);
  EXPECT_EQ(b().qp->state(), QpState::kErr);
  EXPECT_EQ(net_.EventsOf(b()), std::vector{AsyncEventType::kQpAccessError});
}

INSTANTIATE_TEST_SUITE_P(Types, WindowEndsInMidWriteTest,
                         testing::Values(WindowType::k1, WindowType::k2A, WindowType::k2B),
                         [](const auto& row) { return std::string(NameOf(row.param)); });

// ---- A read that is retransmitted after its key became invalid.

enum class End : uint8_t { kInvalidated, kUnbound, kDeregistered, kSwappedOut, kRightsTaken };

const char* NameOf(End end) {
  constexpr const char* kNames[] = {"Invalidated", "Unbound", "Deregistered", "SwappedOut",
                                    "RightsTaken"};
  return kNames[static_cast<size_t>(end)];
}

class ReadAfterEndTest : public PairTest, public testing::WithParamInterface<End> {
 protected:
  static constexpr uint64_t kOffset = 3 * kPage;
  static constexpr uint32_t kLength = 3 * kMtu;

  ReadAfterEndTest() { Connect(); }

  // The key under which A reads.
  Key MakeKey() {
    switch (GetParam()) {
      case End::kInvalidated:
        return BindWindow(WindowType::k2A, kOffset, kLength, Access::kRemoteRead);
      case End::kUnbound:
        return BindWindow(WindowType::k1, kOffset, kLength, Access::kRemoteRead);
      case End::kDeregistered:
      case End::kSwappedOut:
      case End::kRightsTaken:
        break;
    }
    region_ = *node_b_.Register(Spec(Access::kRemoteRead), kOffset);
    EXPECT_TRUE(node_b_.core.regions.MapPages(region_.local, 0, 1, {}, true).has_value());
    return region_.remote;
  }
  void EndKey(Key key) {
    memory::MemoryCore& core = node_b_.core;
    switch (GetParam()) {
      case End::kInvalidated:
        ASSERT_TRUE(core.Invalidate(key, memory::Origin::kLocal, b().who).has_value());
        break;
      case End::kUnbound:
        ASSERT_TRUE(core.windows.Bind(key, {}, b().who).has_value());
        break;
      case End::kDeregistered:
        ASSERT_TRUE(core.regions.Deregister(key).has_value());
        break;
      case End::kSwappedOut:
        ASSERT_TRUE(core.regions.SwapOut(key).has_value());
        break;
      case End::kRightsTaken:
        ASSERT_TRUE(core.regions.Reregister(key, Spec(Access::kNone), {}).has_value());
        break;
    }
    // B's program stores new data there, which A must not get.
    node_b_.Fill(kOffset, kLength, 0x5E);
    has_ended_ = true;
  }
  memory::RegionSpec Spec(Access remote) const {
    return {.pd = node_b_.pd,
            .start = KeyAddress(RcNode::kBase + kOffset),
            .length = kPage,
            .rights = Access::kLocalRead | remote};
  }
  void CountPayloadAfterEnd(const Passing& passing) {
    if (!passing.is_request() && has_ended_) leaked_ += passing.packet.payload().size();
  }

  memory::RegionKeys region_;
  bool has_ended_ = false;
  size_t leaked_ = 0;  // bytes of B's memory that were sent afterwards
};

// The key becomes invalid while the response waits for pages.
TEST_P(ReadAfterEndTest, AReadThatIsNotAnsweredYetIsRefused) {
  std::optional<wire::Syndrome> refusal;
  net_.SetLink([&](const Passing& passing) {
    CountPayloadAfterEnd(passing);
    if (const auto syndrome = SyndromeOf(passing)) refusal = syndrome;
    return LinkAction::Pass();
  });
  net_.SetPager([](const RcEnd&, const transport::PageRequest&) { return PageAction::Hold(); });
  const Key key = MakeKey();
  node_b_.Evict(kOffset / kPage);
  const Bytes before = node_a_.Read(0, kLength);
  net_.Post(a(), ReadOf(1, RcNode::Remote(kOffset, key)), {node_a_.Local(0, kLength)});
  net_.RunFor(Microseconds(50));
  ASSERT_EQ(net_.held_requests().size(), 1u);
  EndKey(key);
  net_.AnswerHeld();
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(leaked_, 0u);
  EXPECT_EQ(node_a_.Read(0, kLength), before);
  EXPECT_EQ(refusal, wire::Syndrome::Nak(wire::NakCode::kRemoteAccessError));
  EXPECT_EQ(StatusesOf(a().Sent()), std::vector{CompletionStatus::kRemoteAccessError});
  EXPECT_EQ(net_.EventsOf(b()), std::vector{AsyncEventType::kQpAccessError});
}

// The response, or all of it except its beginning, is lost, and A retransmits the request. B sends
// no response, because the request could be a late duplicate of one that was answered.
TEST_P(ReadAfterEndTest, ARepeatedReadIsNotAnswered) {
  for (const uint32_t arrive : {0u, 1u}) {
    has_ended_ = false;
    Connect();
    uint32_t answers = 0;
    net_.SetLink([&](const Passing& passing) {
      CountPayloadAfterEnd(passing);
      const bool is_answer = passing.Is(Operation::kReadResponse);
      return is_answer && ++answers > arrive ? LinkAction::Drop() : LinkAction::Pass();
    });
    const Key key = MakeKey();
    const Bytes before = node_a_.Read(0, kLength);
    const Bytes secret = node_b_.Read(kOffset, kLength);
    net_.Post(a(), ReadOf(1, RcNode::Remote(kOffset, key)), {node_a_.Local(0, kLength)});
    net_.RunFor(Microseconds(50));
    EndKey(key);
    ASSERT_TRUE(net_.RunUntilIdle());
    EXPECT_EQ(leaked_, 0u);
    EXPECT_EQ(answers, 3u) << "to the first request";
    const uint32_t arrived = arrive * kMtu;
    EXPECT_TRUE(std::equal(secret.begin(), secret.begin() + arrived, node_a_.At(0)));
    EXPECT_TRUE(std::equal(before.begin() + arrived, before.end(), node_a_.At(arrived)));
    EXPECT_EQ(StatusesOf(a().Sent()), std::vector{CompletionStatus::kRetryExceeded});
    EXPECT_EQ(b().qp->state(), QpState::kRts);
  }
}

// A has its response when a copy of its request arrives late. The connection continues.
TEST_P(ReadAfterEndTest, ALateDuplicateGetsNoBytes) {
  net_.SetLink([&](const Passing& passing) {
    CountPayloadAfterEnd(passing);
    return passing.Is(Operation::kReadRequest) ? LinkAction::Twice(Milliseconds(1))
                                               : LinkAction::Pass();
  });
  const Key key = MakeKey();
  net_.Post(a(), ReadOf(1, RcNode::Remote(kOffset, key)), {node_a_.Local(0, kLength)});
  const Bytes answer = node_b_.Read(kOffset, kLength);
  net_.RunFor(Microseconds(50));
  ExpectSuccess(a().Sent(), {1});
  EndKey(key);
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(leaked_, 0u);
  EXPECT_EQ(node_a_.Read(0, kLength), answer);
  net_.Post(a(), WriteOf(2, node_b_.Remote(0)), {node_a_.Local(0, 8)});
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(a().Sent(), {2});
  EXPECT_EQ(net_.EventsOf(b()), std::vector<AsyncEventType>{});
}

INSTANTIATE_TEST_SUITE_P(Ends, ReadAfterEndTest,
                         testing::Values(End::kInvalidated, End::kUnbound, End::kDeregistered,
                                         End::kSwappedOut, End::kRightsTaken),
                         [](const auto& row) { return std::string(NameOf(row.param)); });

}  // namespace
}  // namespace verbena::scenario
