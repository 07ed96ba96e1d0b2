// Pages of a requester that are absent, or that leave memory while it sends from them.

#include <gtest/gtest.h>

#include "tests/support/requester_fixture.h"
#include "transport/common/placement.h"

namespace verbena::transport {
namespace {

using RequesterPagesTest = RequesterTest;

TEST_F(RequesterPagesTest, MissingPagesStallThisQueuePairWithoutATimeout) {
  Reset({.ack_timeout = Milliseconds(10)});
  MapAll(false);
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  EXPECT_EQ(Pump().size(), 0u);
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_EQ(requester_->next_time(), Time::Never());
  MapAll(true);
  Step step = MakeStep();
  requester_->OnPagesReady(requests_[0].ticket, true, step);
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
}

// The adapter takes back packets whose payload has left memory.
TEST_F(RequesterPagesTest, PacketsThatWereTakenBackAreSentAgain) {
  config_.ack_timeout = Milliseconds(1);
  Reset(config_);
  PostWrite(0, 3 * kMtu);
  Step step = MakeStep();
  requester_->Pump(step, true);
  ASSERT_EQ(outbox_->packets().size(), 3u);
  MapAll(false);
  requester_->TakeBack(Psn(101), true, step);
  requester_->TakeBack(Psn(102), false, step);
  outbox_->Clear();
  EXPECT_EQ(PsnsOf(Pump()), Psns{});
  ASSERT_EQ(requests_.size(), 1u);
  Advance(Seconds(1));
  EXPECT_EQ(requester_->counters().timeouts, 0u) << "our own pages are no fault of the peer's";
  MapAll(true);
  Step later = MakeStep();
  requester_->OnPagesReady(requests_[0].ticket, true, later);
  EXPECT_EQ(PsnsOf(Pump()), (Psns{101, 102}));
  Ack(102);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterPagesTest, APacketThatLosesItsPagesTooOftenIsAnError) {
  PostWrite(0, 10);
  int tries = 0;
  for (; !requester_->has_failed() && tries < 1000; ++tries) {
    ASSERT_EQ(Pump().size(), 1u);
    Step step = MakeStep();
    requester_->TakeBack(Psn(100), true, step);
  }
  EXPECT_EQ(tries, kLossesMax + 1);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kLocalProtectionError}}));
}

TEST_F(RequesterPagesTest, UnavailablePagesAreIgnoredAfterTheElementHasCompleted) {
  Reset({.ack_timeout = Milliseconds(10)});
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  MapAll(false);
  Advance(Milliseconds(10));
  EXPECT_EQ(Pump().size(), 0u);  // the packet must be retransmitted, but its page is absent
  ASSERT_EQ(requests_.size(), 1u);
  Ack(100);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
  Step step = MakeStep();
  requester_->OnPagesReady(requests_[0].ticket, false, step);
  EXPECT_FALSE(requester_->has_failed());
}

TEST_F(RequesterPagesTest, AReadRequestsResponsesDroppedForMissingPagesAgain) {
  PostRead(0, 2 * kMtu);
  Pump();
  MapAll(false);
  ReadResponse(wire::Position::kFirst, 100, std::string(kMtu, 'a'));
  ASSERT_EQ(requests_.size(), 1u);
  MapAll(true);
  Step step = MakeStep();
  requester_->OnPagesReady(requests_[0].ticket, true, step);
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  ReadResponse(wire::Position::kFirst, 100, std::string(kMtu, 'a'));
  ReadResponse(wire::Position::kLast, 101, std::string(kMtu, 'b'));
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

// The ACK of the first transmission of the write arrives late, and implies that the read was
// answered.
TEST_F(RequesterPagesTest, ResponsesDroppedForLocalPagesCostNoRetry) {
  config_.retry_count = 0;
  Reset(config_);
  PostRead(0, kMtu);
  PostWrite(0, 10);
  EXPECT_EQ(PsnsOf(Pump()), (Psns{100, 101}));
  MapAll(false);
  ReadResponse(wire::Position::kOnly, 100, std::string(kMtu, 'a'));
  ASSERT_EQ(requests_.size(), 1u);
  MapAll(true);
  Step step = MakeStep();
  requester_->OnPagesReady(requests_[0].ticket, true, step);
  EXPECT_EQ(PsnsOf(Pump()), (Psns{100, 101}));
  Ack(101);
  EXPECT_FALSE(requester_->has_failed());
  ReadResponse(wire::Position::kOnly, 100, std::string(kMtu, 'a'));
  Ack(101);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}, {2, CompletionStatus::kSuccess}}));
}

// The response of the first of two reads arrives again. Then comes the ACK of the write between
// them: the peer has executed all three before, so it acknowledges up to the second read.
TEST_F(RequesterPagesTest, ResponsesAfterDroppedOnesCostNoRetry) {
  config_.retry_count = 0;
  config_.max_rd_atomic = 2;
  config_.ack_timeout = Milliseconds(10);
  Reset(config_);
  PostRead(0, kMtu);
  PostWrite(0, 10);
  PostRead(0, kMtu);
  EXPECT_EQ(PsnsOf(Pump()), (Psns{100, 101, 102}));
  MapAll(false);
  ReadResponse(wire::Position::kOnly, 100, std::string(kMtu, 'a'));
  ReadResponse(wire::Position::kOnly, 102, std::string(kMtu, 'c'));
  MapAll(true);
  Step step = MakeStep();
  requester_->OnPagesReady(requests_.at(0).ticket, true, step);
  EXPECT_EQ(PsnsOf(Pump()), (Psns{100, 101, 102}));
  ReadResponse(wire::Position::kOnly, 100, std::string(kMtu, 'a'));
  Ack(102);
  EXPECT_FALSE(requester_->has_failed());
  EXPECT_TRUE(Pump().empty()) << "it is asked for already";
  ReadResponse(wire::Position::kOnly, 102, std::string(kMtu, 'c'));
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess},
                         {2, CompletionStatus::kSuccess},
                         {3, CompletionStatus::kSuccess}}));
  // From here on a missing response counts as a loss.
  PostRead(0, kMtu);
  PostWrite(0, 10);
  Pump();
  Ack(104);
  EXPECT_TRUE(requester_->has_failed());
}

// The peer has answered a part of the read, and notifies that the rest waits for its pages.
class RequesterHeldReadTest : public RequesterPagesTest {
 protected:
  // How many of ten timeouts the requester survives, if a notice (an ACK of `psn` that is marked
  // for pages) follows each.
  int TimeoutsWithNotices(uint32_t psn) {
    config_.retry_count = 1;
    config_.ack_timeout = Milliseconds(10);
    Reset(config_);
    PostRead(0, 2 * kMtu);
    Pump();
    ReadResponse(wire::Position::kFirst, 100, std::string(kMtu, 'a'));
    int survived = 0;
    for (; survived < 10; ++survived) {
      Advance(Milliseconds(10));
      if (requester_->has_failed()) break;
      Pump();
      AnswerForPages(wire::Syndrome::Ack(), Psn(psn));
    }
    return survived;
  }
};

TEST_F(RequesterHeldReadTest, NoticesKeepTheRequesterWaiting) {
  EXPECT_EQ(TimeoutsWithNotices(99), 10) << "before the read";
  EXPECT_EQ(TimeoutsWithNotices(100), 10) << "before the part that is not answered";
}

TEST_F(RequesterHeldReadTest, OtherPacketsDoNotKeepTheRequesterWaiting) {
  for (const uint32_t psn : {50U, 98U, 102U, 0x80'0000U}) {
    EXPECT_EQ(TimeoutsWithNotices(psn), 1) << psn;
  }
}

// The pages are the peer's, so waiting for them costs the requester no retry.
TEST_F(RequesterPagesTest, AbsentPagesOfThePeerCostNoRnrRetry) {
  Reset({.ack_timeout = Milliseconds(10), .rnr_retry = 0});
  PostWrite(0, 10);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(PsnsOf(Pump()), Psns{100});
    AnswerForPages(wire::Syndrome::RnrNak(wire::RnrTimer(1)), Psn(100));
    EXPECT_EQ(PsnsOf(Pump()), Psns{}) << "the timer is obeyed";
    Advance(wire::DurationOf(wire::RnrTimer(1)));
  }
  EXPECT_EQ(requester_->counters().rnr_naks, 20u);
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  Ack(100);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));

  PostWrite(0, 10);
  Pump();
  Answer(wire::Syndrome::RnrNak(wire::RnrTimer(1)), Psn(101));
  EXPECT_EQ(Poll(), (All{{2, CompletionStatus::kRnrRetryExceeded}})) << "a missing receive does";
}

TEST_F(RequesterPagesTest, PacketsThatThePeerDroppedForPagesCostNoRetry) {
  Reset({.ack_timeout = Milliseconds(10), .retry_count = 0});
  PostWrite(0, 3 * kMtu);
  EXPECT_EQ(PsnsOf(Pump()), (Psns{100, 101, 102}));
  AnswerForPages(wire::Syndrome::Nak(wire::NakCode::kPsnSequenceError), Psn(101));
  EXPECT_EQ(PsnsOf(Pump()), (Psns{101, 102}));
  AnswerForPages(wire::Syndrome::Nak(wire::NakCode::kPsnSequenceError), Psn(101));
  EXPECT_EQ(PsnsOf(Pump()), (Psns{101, 102}));
  Ack(102);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

}  // namespace
}  // namespace verbena::transport
