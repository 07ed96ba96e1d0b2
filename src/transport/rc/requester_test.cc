#include "transport/rc/requester.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/requester_fixture.h"
#include "wire/roce/atomic_ack_eth.h"

namespace verbena::transport {
namespace {

TEST_F(RequesterTest, AWriteIsCutIntoPacketsAndCompletesWithItsAcknowledgement) {
  PostWrite(3, 600);
  const auto sent = Pump();
  ASSERT_EQ(PsnsOf(sent), (Psns{100, 101, 102}));
  EXPECT_EQ(sent[0].payload + sent[1].payload + sent[2].payload, Text(3, 600));
  EXPECT_EQ(sent[0].reth.dma_length, 600u);
  EXPECT_EQ(sent[0].info->position, wire::Position::kFirst);
  EXPECT_EQ(sent[2].info->position, wire::Position::kLast);
  EXPECT_TRUE(sent[2].bth.ack_request);
  EXPECT_EQ(Poll(), All{});
  Ack(101);
  EXPECT_EQ(Poll(), All{});
  Ack(102);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
  EXPECT_TRUE(requester_->is_drained());
  EXPECT_EQ(requester_->next_time(), Time::Never());
}

TEST_F(RequesterTest, AnEmptyMessageIsOnePacket) {
  Post(SendOpcode::kSend, {});
  const auto sent = Pump();
  ASSERT_EQ(PsnsOf(sent), Psns{100});
  EXPECT_EQ(sent[0].payload, "");
  Ack(100);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, UnsignaledElementsHaveNoCompletion) {
  Post(SendOpcode::kSend, {Bytes(0, 10)}, {}, {.signaled = false});
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  EXPECT_EQ(Pump().size(), 2u);
  Ack(101);
  EXPECT_EQ(Poll(), (All{{2, CompletionStatus::kSuccess}}));
  EXPECT_EQ(queue_->begin(), queue_->end());
}

TEST_F(RequesterTest, AFlushCompletesEvenAnUnsignaledRequest) {
  Post(SendOpcode::kSend, {Bytes(0, 10)}, {}, {.signaled = false});
  Pump();
  Post(SendOpcode::kSend, {Bytes(0, 10)}, {}, {.signaled = false});
  Step step = MakeStep();
  requester_->Flush(step);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kFlushed}, {2, CompletionStatus::kFlushed}}));
}

// The message takes half of the circle of PSNs, which is what may be outstanding.
TEST_F(RequesterTest, TheLongestMessageOfTheSmallestPacketsIsSent) {
  PostRead(0, (1U << 23) * kMtu);
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
}

// Also if another request is outstanding before it.
TEST_F(RequesterTest, AtMostHalfOfThePsnCircleIsOutstanding) {
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  PostRead(0, (1U << 23) * kMtu);
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  Ack(100);
  EXPECT_EQ(PsnsOf(Pump()), Psns{101});
}

TEST_F(RequesterTest, GathersManyElements) {
  std::vector<Sge> sges;
  std::string expected;
  for (uint32_t i = 0; i < 16; ++i) {
    sges.push_back(Bytes(i * 1000, 5 + i));
    expected += Text(i * 1000, 5 + i);
  }
  Post(SendOpcode::kSend, sges);
  const auto sent = Pump();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].payload, expected);
}

TEST_F(RequesterTest, ASequenceErrorRetransmitsFromTheMissingPacket) {
  PostWrite(0, 4 * kMtu);
  EXPECT_EQ(PsnsOf(Pump()), (Psns{100, 101, 102, 103}));
  Answer(wire::Syndrome::Nak(wire::NakCode::kPsnSequenceError), Psn(102));
  const auto again = Pump();
  ASSERT_EQ(PsnsOf(again), (Psns{102, 103}));
  EXPECT_EQ(requester_->counters().sequence_naks, 1u);
  EXPECT_EQ(again[0].payload, Text(2 * kMtu, kMtu));
  Ack(103);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, TimeoutsAreCountedAndThenFatal) {
  Reset({.ack_timeout = Milliseconds(10), .retry_count = 2});
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  EXPECT_EQ(Pump().size(), 1u);
  for (int i = 0; i < 2; ++i) {
    Advance(Milliseconds(9));
    EXPECT_EQ(Pump().size(), 0u);
    Advance(Milliseconds(1));
    EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  }
  Advance(Milliseconds(10));
  EXPECT_EQ(Pump().size(), 0u);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kRetryExceeded}}));
  EXPECT_TRUE(requester_->has_failed());
}

TEST_F(RequesterTest, AnAcknowledgementRestartsTheTimer) {
  Reset({.ack_timeout = Milliseconds(10)});
  PostWrite(0, 3 * kMtu);
  Pump();
  Advance(Milliseconds(9));
  Ack(100);
  EXPECT_EQ(requester_->next_time(), now_ + Milliseconds(10));
  Advance(Milliseconds(9));
  EXPECT_EQ(Pump().size(), 0u);
  Ack(102);
  EXPECT_EQ(requester_->counters().timeouts, 0u);
  EXPECT_EQ(requester_->next_time(), Time::Never()) << "nothing is under way";
}

TEST_F(RequesterTest, AnRnrNakWaitsAndCountsUnlessRetriesAreUnlimited) {
  Reset({.ack_timeout = Milliseconds(10), .rnr_retry = 1});
  const wire::RnrTimer timer(12);
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  Pump();
  Answer(wire::Syndrome::RnrNak(timer), Psn(100));
  EXPECT_EQ(Pump().size(), 0u);
  EXPECT_EQ(requester_->next_time(), now_ + wire::DurationOf(timer));
  Advance(wire::DurationOf(timer));
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  Answer(wire::Syndrome::RnrNak(timer), Psn(100));
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kRnrRetryExceeded}}));
}

TEST_F(RequesterTest, AnUnsolicitedAcknowledgementEndsAnRnrWait) {
  PostWrite(0, 2 * kMtu);
  Pump();
  Answer(wire::Syndrome::RnrNak(wire::RnrTimer(1)), Psn(101));
  EXPECT_EQ(Pump().size(), 0u);
  Ack(100);
  EXPECT_EQ(PsnsOf(Pump()), Psns{101});
}

TEST_F(RequesterTest, ANakFailsItsElementAndCompletesTheEarlierOnes) {
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  PostWrite(0, 10);
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  Pump();
  Answer(wire::Syndrome::Nak(wire::NakCode::kRemoteAccessError), Psn(101));
  EXPECT_EQ(Poll(),
            (All{{1, CompletionStatus::kSuccess}, {2, CompletionStatus::kRemoteAccessError}}));
  EXPECT_TRUE(requester_->has_failed());
  Step step = MakeStep();
  requester_->Flush(step);
  EXPECT_EQ(Poll(), (All{{3, CompletionStatus::kFlushed}}));
}

TEST_F(RequesterTest, AReadIsPlacedAndCompletesWithItsLastPacket) {
  PostRead(5000, 2 * kMtu + 10);
  const auto sent = Pump();
  ASSERT_EQ(PsnsOf(sent), Psns{100});
  EXPECT_EQ(sent[0].reth.dma_length, 2 * kMtu + 10);
  const std::string a(kMtu, 'a'), b(kMtu, 'b'), c(10, 'c');
  ReadResponse(wire::Position::kFirst, 100, a);
  ReadResponse(wire::Position::kMiddle, 101, b);
  EXPECT_EQ(Poll(), All{});
  ReadResponse(wire::Position::kLast, 102, c);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
  EXPECT_EQ(Text(5000, 2 * kMtu + 10), a + b + c);
}

TEST_F(RequesterTest, AReadRequestsItsMissingResponses) {
  Reset({.max_rd_atomic = 2});
  PostRead(0, 4 * kMtu);
  Pump();
  ReadResponse(wire::Position::kFirst, 100, std::string(kMtu, 'a'));
  ReadResponse(wire::Position::kMiddle, 102, std::string(kMtu, 'c'));  // 101 is lost
  const auto again = Pump();
  ASSERT_EQ(PsnsOf(again), Psns{101});
  EXPECT_EQ(again[0].reth.address.value(), 0x2000 + kMtu);
  EXPECT_EQ(again[0].reth.dma_length, 3 * kMtu);
  ReadResponse(wire::Position::kFirst, 101, std::string(kMtu, 'b'));
  ReadResponse(wire::Position::kMiddle, 102, std::string(kMtu, 'c'));
  ReadResponse(wire::Position::kLast, 103, std::string(kMtu, 'd'));
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, ALongReadIsRequestedInWindows) {
  constexpr uint32_t kWindow = CongestionWindow::kInitial;
  PostRead(0, (kWindow + 10) * kMtu);
  PostWrite(0, 10);
  auto sent = Pump();
  ASSERT_EQ(PsnsOf(sent), Psns{100});
  EXPECT_EQ(sent[0].reth.dma_length, kWindow * kMtu);
  const std::string full(kMtu, 'r');
  const auto answer = [&](uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; ++i) ReadResponse(wire::Position::kMiddle, 100 + i, full);
  };
  answer(0, 40);
  EXPECT_EQ(Pump().size(), 0u);
  // Only the lost part of the earlier request is requested again.
  answer(41, 42);
  sent = Pump();
  ASSERT_EQ(PsnsOf(sent), Psns{140});
  EXPECT_EQ(sent[0].reth.dma_length, (kWindow - 40) * kMtu);
  EXPECT_EQ(sent[0].reth.address.value(), 0x2000u + 40 * kMtu);
  answer(40, kWindow);
  sent = Pump();
  ASSERT_EQ(PsnsOf(sent), (Psns{100 + kWindow, 100 + kWindow + 10}));
  EXPECT_EQ(sent[0].reth.dma_length, 10 * kMtu);
  answer(kWindow, kWindow + 9);
  EXPECT_EQ(Poll(), All{});
  ReadResponse(wire::Position::kLast, 100 + kWindow + 9, full);
  Ack(100 + kWindow + 10);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}, {2, CompletionStatus::kSuccess}}));
  EXPECT_EQ(Text(0, kMtu), full);
}

TEST_F(RequesterTest, AnAcknowledgementAfterAReadImpliesThatItsResponseIsLost) {
  PostRead(0, 10);
  Post(SendOpcode::kSend, {Bytes(100, 10)});
  EXPECT_EQ(PsnsOf(Pump()), (Psns{100, 101}));
  Ack(101);
  EXPECT_EQ(Poll(), All{});
  EXPECT_EQ(PsnsOf(Pump()), (Psns{100, 101}));
  EXPECT_EQ(requester_->counters().lost_responses, 1u);
}

TEST_F(RequesterTest, OutstandingReadsAreLimitedAndFencesWait) {
  PostRead(0, 10);
  PostRead(0, 10);
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  ReadResponse(wire::Position::kOnly, 100, std::string(10, 'a'));
  EXPECT_EQ(PsnsOf(Pump()), Psns{101});
  Post(SendOpcode::kSend, {Bytes(0, 1)}, {}, {.signaled = true, .fence = true});
  EXPECT_EQ(Pump().size(), 0u);
  ReadResponse(wire::Position::kOnly, 101, std::string(10, 'a'));
  EXPECT_EQ(PsnsOf(Pump()), Psns{102});
}

// Outstanding requests may have to be retransmitted with the same key.
TEST_F(RequesterTest, AnInvalidationWaitsForOutstandingRequests) {
  PostWrite(0, 10);
  Post(SendOpcode::kLocalInvalidate, {});  // of a key that does not exist
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  EXPECT_EQ(requester_->first_unsent(), queue::WqeNumber(1)) << "it is not begun";
  Ack(100);
  Pump();
  EXPECT_EQ(requester_->first_unsent(), queue::WqeNumber(2));
  EXPECT_EQ(Poll(),
            (All{{1, CompletionStatus::kSuccess}, {2, CompletionStatus::kLocalProtectionError}}));
}

TEST_F(RequesterTest, AnAtomicReturnsTheOriginalValue) {
  Post(SendOpcode::kCompareAndSwap, {Bytes(64, 8)},
       queue::Atomic{.remote = {.address = 0x3000, .key = Key(3)}, .compare_or_add = 5, .swap = 6});
  const auto sent = Pump();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].atomic.compare, 5u);
  EXPECT_EQ(sent[0].atomic.swap_or_add, 6u);
  Respond(wire::Operation::kAtomicAcknowledge, wire::Position::kOnly, Psn(100), {}, wire::Aeth{},
          wire::AtomicAckEth{.original = 0x1122334455667788});
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
  uint64_t word = 0;
  std::memcpy(&word, arena_.data() + 64, sizeof word);
  EXPECT_EQ(word, 0x1122334455667788u);
}

TEST_F(RequesterTest, AFlushAndAnAtomicWriteGetAnEmptyReadResponse) {
  Reset({.max_rd_atomic = 2});
  Post(SendOpcode::kFlush, {},
       queue::FlushOperand{
           .remote = {.address = 0x1000, .key = Key(7)}, .length = 100, .global_visibility = true});
  Post(SendOpcode::kAtomicWrite, {Bytes(8, 8)}, RemoteAddress{.address = 0x1000, .key = Key(7)});
  const auto sent = Pump();
  ASSERT_EQ(PsnsOf(sent), (Psns{100, 101}));
  EXPECT_EQ(sent[0].reth.dma_length, 100u);
  EXPECT_EQ(sent[1].payload, Text(8, 8));
  ReadResponse(wire::Position::kOnly, 100, "");
  ReadResponse(wire::Position::kOnly, 101, "");
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}, {2, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, AKeyOfAnotherDomainFailsTheElement) {
  Sge wrong = Bytes(0, 10);
  wrong.key = Key(wrong.key.value() ^ 1);
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  Post(SendOpcode::kSend, {wrong});
  EXPECT_EQ(Pump().size(), 1u);
  EXPECT_EQ(Poll(), All{});  // the first one has no response yet
  Ack(100);
  EXPECT_EQ(Poll(),
            (All{{1, CompletionStatus::kSuccess}, {2, CompletionStatus::kLocalProtectionError}}));
}

TEST_F(RequesterTest, ADelayElementPausesTheQueue) {
  Post(SendOpcode::kDelay, {}, queue::DelayOperand{Milliseconds(5)});
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  EXPECT_EQ(Pump().size(), 0u);
  EXPECT_EQ(requester_->next_time(), now_ + Milliseconds(5));
  Advance(Milliseconds(5));
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
}

TEST_F(RequesterTest, SequenceNumbersWrap) {
  requester_->Start(Psn(0xfffffe));
  PostWrite(0, 4 * kMtu);
  EXPECT_EQ(PsnsOf(Pump()), (Psns{0xfffffe, 0xffffff, 0, 1}));
  Answer(wire::Syndrome::Nak(wire::NakCode::kPsnSequenceError), Psn(0));
  EXPECT_EQ(PsnsOf(Pump()), (Psns{0, 1}));
  Ack(1);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, GhostAcknowledgementsAreIgnored) {
  Post(SendOpcode::kSend, {Bytes(0, 10)});
  Pump();
  Ack(500);
  Ack(101);  // after the last packet that was sent
  Answer(wire::Syndrome::Nak(wire::NakCode::kRemoteAccessError), Psn(99));
  ReadResponse(wire::Position::kOnly, 100, "x");
  EXPECT_EQ(Poll(), All{});
  EXPECT_FALSE(requester_->has_failed());
  Ack(100);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
}

TEST_F(RequesterTest, ADrainFinishesStartedElementsAndStartsNone) {
  PostWrite(0, 600);
  Pump();
  PostWrite(0, 10);
  may_begin_ = false;
  EXPECT_EQ(Pump().size(), 0u);
  Answer(wire::Syndrome::Nak(wire::NakCode::kPsnSequenceError), Psn(101));
  EXPECT_EQ(PsnsOf(Pump()), (Psns{101, 102}));
  EXPECT_FALSE(requester_->is_drained());
  Ack(102);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess}}));
  EXPECT_EQ(Pump().size(), 0u);
  EXPECT_TRUE(requester_->is_drained());
  may_begin_ = true;
  EXPECT_EQ(PsnsOf(Pump()), Psns{103});
}

// Rows B2 and B3. The key does not exist.
class RequesterRegistrationTest : public RequesterTest {
 protected:
  void Begin(RegistrationMode mode) {
    RcConfig config;
    config.registration = mode;
    Reset(config);
  }
  void PostBadRegistration() { Post(SendOpcode::kRegister, {}, queue::RegistrationOperand{}); }
};

TEST_F(RequesterRegistrationTest, IsRefusedUnlessItIsEnabled) {
  Begin(RegistrationMode::kDisabled);
  PostBadRegistration();
  Pump();
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kLocalQpOperationError}}));
  EXPECT_TRUE(requester_->has_failed());
}

TEST_F(RequesterRegistrationTest, InAnticipatoryModeAFailureEndsTheConnection) {
  Begin(RegistrationMode::kAnticipatory);
  PostBadRegistration();
  PostWrite(0, 10);
  EXPECT_EQ(Pump().size(), 0u);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kLocalQpOperationError}}));
  EXPECT_TRUE(requester_->has_failed());
  EXPECT_FALSE(requester_->TakeSqdFailure());
}

TEST_F(RequesterRegistrationTest, InReactiveModeAFailureFlushesTheElementsAfterIt) {
  Begin(RegistrationMode::kReactive);
  PostWrite(0, 10);
  PostBadRegistration();
  PostWrite(0, 20);
  EXPECT_EQ(PsnsOf(Pump()), Psns{100});
  EXPECT_EQ(Poll(), All{});  // it fails after the elements before it
  Ack(100);
  EXPECT_EQ(Poll(), (All{{1, CompletionStatus::kSuccess},
                         {2, CompletionStatus::kLocalQpOperationError},
                         {3, CompletionStatus::kFlushed}}));
  EXPECT_FALSE(requester_->has_failed());
  PostWrite(0, 30);
  EXPECT_EQ(Pump().size(), 0u);  // not before the queue pair has handled the failure
  EXPECT_TRUE(requester_->TakeSqdFailure());
  EXPECT_FALSE(requester_->TakeSqdFailure());
  EXPECT_EQ(PsnsOf(Pump()), Psns{101});
  Ack(101);
  EXPECT_EQ(Poll(), (All{{4, CompletionStatus::kSuccess}}));
}

}  // namespace
}  // namespace verbena::transport
