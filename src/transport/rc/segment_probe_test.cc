#include "transport/rc/segment_probe.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/requester_fixture.h"
#include "tests/support/responder_read_fixture.h"

namespace verbena::transport {
namespace {

using Fate = SegmentReport::Fate;
using wire::Operation;

template <class Packets>
size_t SinglesIn(const Packets& packets) {
  return static_cast<size_t>(
      std::ranges::count_if(packets, [](const auto& packet) { return packet.single; }));
}

// What the requester does with a write of four packets, 100 to 103, and an acknowledgement timeout
// of 10 ms.
class RequesterSegmentTest : public RequesterTest {
 protected:
  RequesterSegmentTest() { Reset({.ack_timeout = Milliseconds(10), .retry_count = 7}); }

  void SendFour() {
    PostWrite(0, 4 * kMtu);
    EXPECT_EQ(SinglesIn(Pump()), 0u);
  }
  // How many packets leave, all of them single, or none; anything else fails.
  size_t SinglesAfterTimeout() {
    Advance(Milliseconds(10));
    const auto again = Pump();
    EXPECT_EQ(SinglesIn(again), again.size());
    return again.size();
  }
};

TEST_F(RequesterSegmentTest, ARetransmissionAfterATimeoutLeavesInSingleDatagrams) {
  SendFour();
  EXPECT_EQ(SinglesAfterTimeout(), 4u);
  EXPECT_EQ(SinglesAfterTimeout(), 4u) << "and so does the next one";
  Ack(103);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].fate, Fate::kLost);
  EXPECT_EQ(reports_[0].packets, 4u);
  EXPECT_EQ(reports_[0].bytes, kMtu + 28);
  EXPECT_EQ(reports_[0].path, config_.path);
  SendFour();  // together again
}

TEST_F(RequesterSegmentTest, SinglesAreSentUntilAllTimedOutPacketsArrived) {
  SendFour();
  EXPECT_EQ(SinglesAfterTimeout(), 4u);
  Ack(101);
  EXPECT_EQ(reports_.size(), 1u);
  PostWrite(0, 2 * kMtu);
  EXPECT_EQ(SinglesIn(Pump()), 2u);
  Ack(103);
  Ack(105);
  EXPECT_EQ(reports_.size(), 1u) << "one loss is reported once";
  SendFour();
}

TEST_F(RequesterSegmentTest, ARetransmissionAfterANakIsSegmentedAndNoEvidence) {
  in_doubt_ = true;
  SendFour();
  Answer(wire::Syndrome::Nak(wire::NakCode::kPsnSequenceError), Psn(101));
  EXPECT_EQ(SinglesIn(Pump()), 0u);
  Advance(Milliseconds(10));
  EXPECT_EQ(SinglesIn(Pump()), 3u);
  Ack(103);
  EXPECT_EQ(reports_.size(), 1u) << "the second group was lost, as a whole";
}

TEST_F(RequesterSegmentTest, APartlyDeliveredGroupIsNoEvidence) {
  SendFour();
  Ack(100);
  EXPECT_EQ(SinglesAfterTimeout(), 3u);
  Ack(103);
  EXPECT_TRUE(reports_.empty());
}

TEST_F(RequesterSegmentTest, OnePacketIsNoEvidence) {
  PostWrite(0, 8);
  Pump();
  EXPECT_EQ(SinglesAfterTimeout(), 1u);
  Ack(100);
  EXPECT_TRUE(reports_.empty());
}

TEST_F(RequesterSegmentTest, ArrivalsAreReportedIfAPathIsInDoubt) {
  SendFour();
  Ack(103);
  EXPECT_TRUE(reports_.empty());
  in_doubt_ = true;
  SendFour();
  Ack(105);
  EXPECT_TRUE(reports_.empty()) << "a part says nothing";
  Ack(107);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].fate, Fate::kArrived);
  EXPECT_EQ(reports_[0].packets, 4u);
}

class ResponderSegmentTest : public ResponderReadFixture {};

TEST_F(ResponderSegmentTest, RepeatedResponsesLeaveInSingleDatagrams) {
  Deliver(ReadOf(0, 3 * kMtu));
  EXPECT_EQ(SinglesIn(Answers()), 0u);
  Deliver(ReadOf(0, 3 * kMtu), Psn(kStart));
  EXPECT_EQ(SinglesIn(Answers()), 3u);
  EXPECT_TRUE(reports_.empty());
  Deliver(ReadOf(0, 2 * kMtu));  // the peer goes on
  EXPECT_EQ(SinglesIn(Answers()), 0u);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].fate, Fate::kLost);
  EXPECT_EQ(reports_[0].packets, 3u);
}

TEST_F(ResponderSegmentTest, RepeatedAtomicsAndAcknowledgementsLeaveInSingleDatagrams) {
  const Request add{.operation = Operation::kFetchAdd, .atomic = AtomicOf(0, 1)};
  Deliver(add);
  Deliver(add);
  EXPECT_EQ(SinglesIn(Answers()), 0u);
  Deliver(add, Psn(kStart));
  Deliver(add, Psn(kStart) + 1);
  EXPECT_EQ(SinglesIn(Answers()), 2u);
  Deliver(WriteOnly(0, Pattern(8)));
  EXPECT_FALSE(OneAnswer().single);
  Deliver(WriteOnly(0, Pattern(8)), Psn(kStart) + 2);
  EXPECT_TRUE(OneAnswer().single);
  Deliver(WriteOnly(0, Pattern(8)));
  EXPECT_FALSE(OneAnswer().single);
}

TEST_F(ResponderSegmentTest, AResponseThatMustBeRepeatedHasNotArrived) {
  Deliver(ReadOf(0, 3 * kMtu));
  Answers();
  Deliver(ReadOf(0, 3 * kMtu), Psn(kStart));
  Deliver(ReadOf(0, 8));  // was on its way when the peer went back
  EXPECT_EQ(SinglesIn(Answers()), 3u);
  EXPECT_TRUE(reports_.empty());
}

TEST_F(ResponderSegmentTest, TheRemainderOfAResponseIsNoEvidence) {
  Deliver(ReadOf(0, 3 * kMtu));
  Answers();
  Deliver(ReadOf(kMtu, 2 * kMtu), Psn(PsnAt(1)));
  EXPECT_EQ(SinglesIn(Answers()), 2u);
  Deliver(ReadOf(0, 8));
  Answers();
  EXPECT_TRUE(reports_.empty());
}

// A peer that asks for more than is kept has what is given up.
TEST_F(ResponderSegmentTest, AResponseThatLeavesTheCacheHasArrived) {
  in_doubt_ = true;
  Deliver(ReadOf(0, 3 * kMtu));
  Answers();
  for (uint32_t i = 0; i + 1 < config_.max_dest_rd_atomic; ++i) {
    Deliver(ReadOf(0, 8));
    Answers();
  }
  EXPECT_TRUE(reports_.empty());
  Deliver(ReadOf(0, 8));
  Answers();
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].fate, Fate::kArrived);
  EXPECT_EQ(reports_[0].packets, 3u);
}

}  // namespace
}  // namespace verbena::transport
