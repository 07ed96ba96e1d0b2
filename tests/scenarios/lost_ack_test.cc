// The data has arrived but its acknowledgement is lost: the retransmitted request is acknowledged
// again, but not executed again.

#include <cstdint>

#include "tests/support/pair_fixture.h"

namespace verbena::scenario {
namespace {

// The parameter is the number of consecutive acknowledgements that are lost.
class LostLastAckTest : public PairTest, public testing::WithParamInterface<uint32_t> {
 protected:
  LostLastAckTest() {
    Connect();
    net_.SetLink([this](const Passing& passing) {
      if (passing.is_request()) {
        ++requests_;
        return LinkAction::Pass();
      }
      ++answers_;
      return answers_ <= GetParam() ? LinkAction::Drop() : LinkAction::Pass();
    });
  }

  // Runs until the request was executed and its response is in flight or lost.
  void RunUntilExecuted() { net_.RunFor(Microseconds(7)); }

  // Expects one timeout, one more request and one more response for each loss.
  void ExpectRepeats() {
    ASSERT_TRUE(net_.RunUntilIdle());
    ExpectSuccess(a().Sent(), {1});
    EXPECT_EQ(a().counters().timeouts, GetParam());
    EXPECT_EQ(requests_, GetParam() + 1);
    EXPECT_EQ(answers_, GetParam() + 1);
    EXPECT_EQ(a().qp->state(), QpState::kRts);
    EXPECT_EQ(b().qp->state(), QpState::kRts);
  }

  uint32_t requests_ = 0;
  uint32_t answers_ = 0;
};

TEST_P(LostLastAckTest, OfAWriteThatIsNotWrittenAgain) {
  net_.Post(a(), WriteOf(1, node_b_.Remote(0)), {node_a_.Local(kPage, 100)});
  RunUntilExecuted();
  EXPECT_EQ(node_b_.Read(0, 100), node_a_.Read(kPage, 100));
  // B's program has received the bytes and changes its memory.
  node_b_.Fill(0, 100, 0xBB);
  ExpectRepeats();
  EXPECT_EQ(node_b_.Read(0, 100), Bytes(100, std::byte{0xBB}));
}

TEST_P(LostLastAckTest, OfASendThatTakesOneReceiveRequest) {
  net_.PostReceive(b(), 11, {node_b_.Local(0, 100)});
  net_.PostReceive(b(), 12, {node_b_.Local(kPage, 100)});
  const Bytes untouched = node_b_.Read(kPage, 100);
  net_.Post(a(), SendOf(1), {node_a_.Local(0, 100)});
  RunUntilExecuted();
  ExpectSuccess(b().Received(), {11});
  node_b_.Fill(0, 100, 0xBB);
  ExpectRepeats();
  EXPECT_TRUE(b().Received().empty());
  EXPECT_EQ(node_b_.Read(0, 100), Bytes(100, std::byte{0xBB}));
  EXPECT_EQ(node_b_.Read(kPage, 100), untouched);
}

TEST_P(LostLastAckTest, OfAnAtomicThatIsAnsweredWithTheFirstResult) {
  node_b_.SetWord(0, 5);
  net_.Post(a(), FetchAddOf(1, node_b_.Remote(0), 3), {node_a_.Local(0, 8)});
  RunUntilExecuted();
  EXPECT_EQ(node_b_.WordAt(0), 8u);
  node_b_.SetWord(0, 1000);
  ExpectRepeats();
  EXPECT_EQ(node_a_.WordAt(0), 5u);
  EXPECT_EQ(node_b_.WordAt(0), 1000u);
}

TEST_P(LostLastAckTest, OfASendWithInvalidateThatInvalidatesOnce) {
  const Key window = BindWindow(WindowType::k2A, kPage, 100, Access::kRemoteWrite);
  net_.PostReceive(b(), 11, {node_b_.Local(0, 100)});
  net_.Post(a(), SendInvalidateOf(1, window), {node_a_.Local(0, 100)});
  RunUntilExecuted();
  const auto received = b().Received();
  ExpectSuccess(received, {11});
  EXPECT_EQ(received.at(0).invalidated, window);
  ExpectRepeats();
}

INSTANTIATE_TEST_SUITE_P(Times, LostLastAckTest, testing::Values(1u, 2u, 7u));

}  // namespace
}  // namespace verbena::scenario
