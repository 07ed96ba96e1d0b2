// Pages that are absent when a responder sends from them, or that go while it sends.

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "tests/support/responder_read_fixture.h"
#include "transport/rc/responder.h"

namespace verbena::transport {
namespace {

using memory::kPage;
using wire::NakCode;
using wire::Operation;

using ResponderPagesTest = ResponderReadFixture;

TEST_F(ResponderPagesTest, AReadOfAbsentPagesIsHeldWithoutAPacket) {
  TakePagesAway(0, 2);
  Deliver(WriteOnly(2 * kPage, Pattern(8)));
  Deliver(ReadOf(0, 2 * kMtu));
  Deliver(WriteOnly(2 * kPage, Pattern(8)));
  EXPECT_TRUE(
      OneAnswer().IsAck(kStart));  // earlier packets are acknowledged by a packet of their own
  EXPECT_FALSE(responder_->wants_step());
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_FALSE(requests_[0].fault.for_write);
  EXPECT_TRUE(Answers().empty());

  PageIn(0, 2);
  PagesReady(requests_[0].ticket);
  EXPECT_TRUE(responder_->wants_step());
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 3u);
  ExpectRun({answers[0], answers[1]}, PsnAt(1), Read(0, 2 * kMtu));
  EXPECT_TRUE(answers[2].IsAck(PsnAt(3)));
}

TEST_F(ResponderPagesTest, AllPagesOfAReadAreRequested) {
  TakePagesAway(1, 3);
  Deliver(ReadOf(kPage - kMtu, kMtu + 2 * kPage + 1));
  EXPECT_EQ(Answers().size(), 1u);
  EXPECT_EQ(requests_.at(0).fault.first_page, 1u);
  EXPECT_EQ(requests_.at(0).fault.page_count, 3u);
}

TEST_F(ResponderPagesTest, AReadAndAWriteWaitForTheirPagesTogether) {
  TakePagesAway(0, 2);
  Deliver(ReadOf(0, 8));
  Answers();
  Deliver(WriteOnly(kPage, Pattern(8)));
  Answers();
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_TRUE(requests_[1].fault.for_write);
  PageIn(0, 2);
  PagesReady(requests_[1].ticket);
  EXPECT_FALSE(responder_->wants_step());  // no acknowledgement overtakes the reply
  PagesReady(requests_[0].ticket);
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].operation, Operation::kReadResponse);
  EXPECT_TRUE(answers[1].IsAck(PsnAt(1)));
}

// The adapter takes back packets whose payload is gone.
TEST_F(ResponderPagesTest, TakenBackResponsesAreSentAgainInOrder) {
  Deliver(ReadOf(0, 2 * kMtu));
  SetWord(2 * kPage, 5);
  Deliver({.operation = Operation::kFetchAdd, .atomic = AtomicOf(2 * kPage, 1)});
  Deliver(WriteOnly(2 * kPage, Pattern(8)));
  Step step = MakeStep();
  responder_->Pump(step);
  ASSERT_EQ(outbox_.packets().size(), 4u);
  TakePagesAway(0, 1);
  for (size_t i = 1; i < 4; ++i)
    EXPECT_TRUE(responder_->TakeBack(outbox_.packets()[i], i == 1, step));
  outbox_.Clear();
  EXPECT_TRUE(Answers().empty());
  ASSERT_EQ(requests_.size(), 1u);
  PageIn(0, 1);
  PagesReady(requests_[0].ticket);
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].psn, PsnAt(1));
  EXPECT_EQ(answers[0].payload, Read(kMtu, kMtu));
  EXPECT_EQ(answers[1].original, 5u);
  EXPECT_TRUE(answers[2].IsAck(PsnAt(3)));
}

TEST_F(ResponderPagesTest, ANakIsNotTakenBack) {
  Deliver(WriteOnly(4 * kPage, Pattern(8)));
  Step step = MakeStep();
  responder_->Pump(step);
  ASSERT_EQ(outbox_.packets().size(), 1u);
  EXPECT_FALSE(responder_->TakeBack(outbox_.packets()[0], false, step));
  outbox_.Clear();
}

TEST_F(ResponderPagesTest, AResponseThatLosesItsPagesTooOftenIsAnError) {
  Deliver(ReadOf(0, 8));
  Step step = MakeStep();
  int tries = 0;
  for (; !responder_->failure() && tries < 1000; ++tries) {
    responder_->Pump(step);
    ASSERT_EQ(outbox_.packets().size(), 1u);
    EXPECT_TRUE(responder_->TakeBack(outbox_.packets()[0], true, step));
    outbox_.Clear();
  }
  EXPECT_EQ(tries, kLossesMax + 1);
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kRemoteAccessError));
}

TEST_F(ResponderPagesTest, AHeldReadOfUnavailablePagesIsRefused) {
  TakePagesAway(0, 1);
  Deliver(ReadOf(0, 8));
  Deliver(ReadOf(kPage, 8));
  EXPECT_TRUE(Answers().empty());
  PagesReady(requests_.at(0).ticket, false);
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kRemoteAccessError));
  EXPECT_EQ(responder_->failure()->reason, NakReason(ResponderError::kPagesUnavailable));
  EXPECT_EQ(events_, std::vector{AsyncEventType::kQpAccessError});
}

// The network may duplicate a request, and deliver the duplicate long after the response.
TEST_F(ResponderPagesTest, AHeldLateDuplicateIsReplacedByNewRequests) {
  for (int i = 0; i < 2; ++i) Deliver(ReadOf(0, 8));
  EXPECT_EQ(Answers().size(), 2u);
  TakePagesAway(0, 1);
  Deliver(ReadOf(0, 8), Psn(kStart));
  EXPECT_TRUE(Answers().empty());
  Deliver(ReadOf(kPage, 8));
  EXPECT_EQ(OneAnswer().psn, PsnAt(2));
  PagesReady(requests_.at(0).ticket, false);
  EXPECT_FALSE(responder_->failure().has_value());
}

// The peer has its response and would ignore a NAK: the connection must survive.
TEST_F(ResponderPagesTest, ALateDuplicateOfUnavailablePagesIsDropped) {
  Deliver(ReadOf(0, 8));
  EXPECT_EQ(Answers().size(), 1u);
  TakePagesAway(0, 1);
  Deliver(ReadOf(0, 8), Psn(kStart));
  EXPECT_TRUE(Answers().empty());
  PagesReady(requests_.at(0).ticket, false);
  EXPECT_TRUE(Answers().empty());
  EXPECT_FALSE(responder_->failure().has_value());
  EXPECT_TRUE(events_.empty());
  Deliver(ReadOf(kPage, 8));
  EXPECT_EQ(OneAnswer().psn, PsnAt(1));
}

// The same if the pages are lost again each time before the packets are sent.
TEST_F(ResponderPagesTest, ALateDuplicateWhosePagesAreLostTooOftenIsDropped) {
  Deliver(ReadOf(0, 8));
  EXPECT_EQ(Answers().size(), 1u);
  Deliver(ReadOf(0, 8), Psn(kStart));
  Step step = MakeStep();
  for (int i = 0; i <= kLossesMax; ++i) {
    responder_->Pump(step);
    ASSERT_EQ(outbox_.packets().size(), 1u);
    EXPECT_TRUE(responder_->TakeBack(outbox_.packets()[0], true, step));
    outbox_.Clear();
  }
  EXPECT_TRUE(Answers().empty());
  EXPECT_FALSE(responder_->failure().has_value());
}

TEST_F(ResponderPagesTest, ADuplicateBeforeAHeldReadIsAnsweredMeanwhile) {
  Deliver(ReadOf(kPage, 8));
  Answers();
  TakePagesAway(0, 1);
  Deliver(ReadOf(0, 8));
  EXPECT_TRUE(Answers().empty());
  Deliver(ReadOf(kPage, 8), Psn(kStart));
  EXPECT_EQ(OneAnswer().psn, kStart);
  EXPECT_FALSE(responder_->wants_step());
  EXPECT_TRUE(responder_->has_responses_due());
  PageIn(0, 1);
  PagesReady(requests_.at(0).ticket);
  EXPECT_EQ(OneAnswer().psn, PsnAt(1));
  EXPECT_FALSE(responder_->has_responses_due());
}

// The notice of a held read is the acknowledgement before it, sent again and marked.
TEST_F(ResponderPagesTest, AHeldReadGetsANoticeAfterHalfOfTheTimer) {
  config_.ack_timeout = Milliseconds(10);
  Begin();
  TakePagesAway(0, 1);
  Deliver(WriteOnly(kPage, Pattern(8)));
  Deliver(ReadOf(0, 8));
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
  Advance(Milliseconds(4));
  EXPECT_TRUE(Answers().empty());
  for (int i = 0; i < 3; ++i) {
    Advance(responder_->next_time() - now_);
    EXPECT_TRUE(responder_->wants_step());
    const Answer notice = OneAnswer();
    EXPECT_TRUE(notice.IsAck(kStart));
    EXPECT_TRUE(notice.is_for_pages);
    EXPECT_EQ(responder_->next_time(), now_ + Milliseconds(5));
  }
  PageIn(0, 1);
  PagesReady(requests_.at(0).ticket);
  EXPECT_EQ(OneAnswer().psn, PsnAt(1));
  EXPECT_EQ(responder_->next_time(), Time::Never());
}

TEST_F(ResponderPagesTest, ARetransmittedHeldReadGetsMoreFrequentNotices) {
  config_.ack_timeout = Milliseconds(100);
  Begin();
  TakePagesAway(0, 1);
  Deliver(ReadOf(0, 8));
  EXPECT_TRUE(Answers().empty());
  Advance(Milliseconds(8));
  Deliver(ReadOf(0, 8), Psn(kStart));
  EXPECT_TRUE(OneAnswer().is_for_pages);
  EXPECT_EQ(responder_->next_time(), now_ + Milliseconds(4));
}

// Notices are not more frequent than the timer of this side, however short that is.
TEST_F(ResponderPagesTest, NoticesAreNotMoreFrequentThanTheLocalTimer) {
  config_.ack_timeout = Microseconds(400);
  Begin();
  TakePagesAway(0, 1);
  Deliver(ReadOf(0, 8));
  EXPECT_TRUE(Answers().empty());
  Advance(Microseconds(10));
  Deliver(ReadOf(0, 8), Psn(kStart));
  EXPECT_TRUE(OneAnswer().is_for_pages);
  EXPECT_EQ(responder_->next_time(), now_ + Microseconds(200));
}

// IBA 9.7.5.2.8: no RNR timer is shorter than that of the queue pair.
TEST_F(ResponderPagesTest, NoRnrTimerIsShorterThanTheQueuePairsOwn) {
  page_service_ = Microseconds(40);
  TakePagesAway(0, 1);
  Deliver(WriteOnly(0, Pattern(8)));
  EXPECT_TRUE(OneAnswer().IsRnrNak(kStart, kNotReadyTimer));
  page_service_ = Milliseconds(5);
  Deliver(WriteOnly(0, Pattern(8)), Psn(kStart));
  EXPECT_TRUE(OneAnswer().IsRnrNak(kStart, wire::RnrTimerAtLeast(Milliseconds(5))));
}

// So a peer with few retries survives a page that takes long.
TEST_F(ResponderPagesTest, TheRnrTimerGrowsWithTheTimeThatPagesHaveTaken) {
  page_service_ = Microseconds(40);
  TakePagesAway(0, 1);
  Deliver(WriteOnly(0, Pattern(8)));
  Answers();
  Advance(Milliseconds(20));
  Deliver(WriteOnly(0, Pattern(8)), Psn(kStart));
  EXPECT_TRUE(OneAnswer().IsRnrNak(kStart, wire::RnrTimerAtLeast(Milliseconds(20))));
  Advance(Seconds(2));
  Deliver(WriteOnly(0, Pattern(8)), Psn(kStart));
  EXPECT_TRUE(OneAnswer().IsRnrNak(kStart, wire::RnrTimer(0))) << "the longest that there is";

  PageIn(0, 1);
  PagesReady(requests_.at(0).ticket);
  Answers();
  TakePagesAway(0, 1);
  Deliver(WriteOnly(0, Pattern(8)));
  EXPECT_TRUE(OneAnswer().IsRnrNak(PsnAt(1), kNotReadyTimer)) << "of another packet";
}

TEST_F(ResponderPagesTest, ANakForAbsentPagesIsMarked) {
  Deliver({.payload = Pattern(8)});
  const Answer no_receive = OneAnswer();
  EXPECT_TRUE(no_receive.IsRnrNak(kStart, kNotReadyTimer));
  EXPECT_FALSE(no_receive.is_for_pages);
  PostReceive(1);
  TakePagesAway(2, 1);
  Deliver({.payload = Pattern(8)}, Psn(kStart));
  EXPECT_TRUE(OneAnswer().is_for_pages);
}

// A peer that allows few RNR retries gets no NAK before half of its ACK timeout is over.
class HeldNakTest : public ResponderReadFixture {
 protected:
  HeldNakTest() {
    config_.rnr_retry = 0;
    config_.ack_timeout = Milliseconds(10);
    Begin();
    TakePagesAway(0, 1);
  }
};

TEST_F(HeldNakTest, PagesThatArriveSoonCauseNoNak) {
  Deliver(WriteOnly(kPage, Pattern(8)));
  Deliver(WriteOnly(0, Pattern(8)));
  EXPECT_TRUE(OneAnswer().IsAck(kStart)) << "what came before is acknowledged";
  EXPECT_FALSE(responder_->wants_step());
  EXPECT_EQ(responder_->next_time(), now_ + Milliseconds(5));
  Advance(Milliseconds(4));
  EXPECT_TRUE(Answers().empty());
  PageIn(0, 1);
  PagesReady(requests_.at(0).ticket);
  EXPECT_TRUE(OneAnswer().IsAck(PsnAt(1)));
  EXPECT_EQ(responder_->next_time(), Time::Never());
}

TEST_F(HeldNakTest, PacketsDroppedDuringTheWaitAreRequestedWithoutARetry) {
  Deliver(WriteOnly(0, Pattern(8)));
  Deliver(WriteOnly(kPage, Pattern(8)));
  EXPECT_TRUE(Answers().empty());
  PageIn(0, 1);
  PagesReady(requests_.at(0).ticket);
  const Answer answer = OneAnswer();
  EXPECT_TRUE(answer.IsNak(PsnAt(1), NakCode::kPsnSequenceError));
  EXPECT_TRUE(answer.is_for_pages);
}

TEST_F(HeldNakTest, SlowPagesCauseOneNak) {
  Deliver(WriteOnly(0, Pattern(8)));
  EXPECT_TRUE(Answers().empty());
  Advance(Milliseconds(5));
  const Answer answer = OneAnswer();
  EXPECT_TRUE(answer.IsRnrNak(kStart, wire::RnrTimerAtLeast(Milliseconds(5))));
  EXPECT_TRUE(answer.is_for_pages);
  EXPECT_EQ(responder_->next_time(), Time::Never());
  PageIn(0, 1);
  PagesReady(requests_.at(0).ticket);
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
}

// The timer of the peer is shorter than that of this side.
TEST_F(HeldNakTest, APacketThatIsRetransmittedOftenGetsANak) {
  Deliver(WriteOnly(0, Pattern(8)));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Answers().empty());
    Advance(Milliseconds(1));
    Deliver(WriteOnly(0, Pattern(8)), Psn(kStart));
  }
  EXPECT_TRUE(OneAnswer().is_for_pages);
}

TEST_F(HeldNakTest, AMissingReceiveGetsANakAtOnce) {
  Deliver({.payload = Pattern(8)});
  EXPECT_TRUE(OneAnswer().IsRnrNak(kStart, kNotReadyTimer));
}

TEST_F(HeldNakTest, AFaultWithUnlimitedOrUnknownRetriesGetsANakAtOnce) {
  for (const bool is_known : {true, false}) {
    config_.rnr_retry = is_known ? 7 : 0;
    config_.ack_timeout = is_known ? Milliseconds(10) : Duration::Max();
    Begin();
    Deliver(WriteOnly(0, Pattern(8)));
    EXPECT_TRUE(OneAnswer().is_for_pages);
  }
}

// The pages were present, and absent again before the packet was executed.
TEST_F(HeldNakTest, AWaitGetsOneNak) {
  Deliver(WriteOnly(0, Pattern(8)));
  Advance(Milliseconds(5));
  EXPECT_TRUE(OneAnswer().is_for_pages);
  PagesReady(requests_.at(0).ticket);
  EXPECT_TRUE(Answers().empty());
  ASSERT_EQ(requests_.size(), 2u);
  PageIn(0, 1);
  PagesReady(requests_[1].ticket);
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
}

// The peer retransmits when its timer ends, and has got no NAK since.
TEST_F(HeldNakTest, ARetransmissionWhosePagesAreAbsentAgainGetsANak) {
  Deliver(WriteOnly(0, Pattern(8)));
  Advance(Milliseconds(5));
  EXPECT_TRUE(OneAnswer().is_for_pages);
  PagesReady(requests_.at(0).ticket);
  EXPECT_TRUE(Answers().empty());
  Advance(Milliseconds(10));
  Deliver(WriteOnly(0, Pattern(8)), Psn(kStart));
  const Answer answer = OneAnswer();
  EXPECT_TRUE(answer.IsRnrNak(kStart, wire::RnrTimerAtLeast(Milliseconds(15))))
      << "the wait is counted from its beginning";
  EXPECT_EQ(requests_.size(), 2u) << "and asks for nothing new";
}

// A peer other than Verbena, which retransmits when its timer ends and loses a retry each time.
class FewRetriesTest : public ResponderReadFixture, public testing::WithParamInterface<int> {
 protected:
  // The bound that docs/transport.md states: how long a page may take.
  Duration Bound() const {
    constexpr std::array<int64_t, 7> kMilliseconds = {0, 655, 1'310, 1'630, 1'790, 1'870, 1'910};
    return Milliseconds(kMilliseconds.at(static_cast<size_t>(GetParam()))) + kAckTimeout / 2;
  }
  void SetUp() override {
    config_.rnr_retry = static_cast<uint8_t>(GetParam());
    config_.ack_timeout = kAckTimeout;
    Begin();
    page_service_ = Microseconds(20);
    TakePagesAway(0, 1);
  }

  static constexpr Duration kAckTimeout = Milliseconds(67);
};

TEST_P(FewRetriesTest, APageWithinTheBoundExhaustsNoRetries) {
  const Time start = now_;
  Deliver(WriteOnly(0, Pattern(8)));
  Advance(responder_->next_time() - now_);
  int naks = 0;
  for (Answer answer = OneAnswer();; answer = OneAnswer()) {
    ASSERT_TRUE(answer.is_for_pages);
    ASSERT_LE(++naks, GetParam()) << "the peer would have given up";
    const Duration wait = wire::DurationOf(answer.aeth->syndrome.rnr_timer());
    if (now_ + wait > start + Bound()) break;
    Advance(wait);
    Deliver(WriteOnly(0, Pattern(8)), Psn(kStart));
  }
  now_ = start + Bound();
  PageIn(0, 1);
  PagesReady(requests_.at(0).ticket);
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
}

// A timer that is long from the start would satisfy the bound as well, and make every page slow.
TEST_P(FewRetriesTest, MoreRetriesMakeTheFirstWaitShorter) {
  Deliver(WriteOnly(0, Pattern(8)));
  Advance(responder_->next_time() - now_);
  const int halvings = std::max(0, GetParam() - 2);
  const Duration most = Microseconds(655'360 >> halvings);
  const Duration wait = wire::DurationOf(OneAnswer().aeth->syndrome.rnr_timer());
  EXPECT_EQ(wait, wire::DurationOf(wire::RnrTimerAtLeast(std::max(most, kAckTimeout / 2))));
}

INSTANTIATE_TEST_SUITE_P(Retries, FewRetriesTest, testing::Range(1, 7));

}  // namespace
}  // namespace verbena::transport
