#include "transport/rc/responder.h"

#include <gtest/gtest.h>

#include "tests/support/responder_fixture.h"

namespace verbena::transport {
namespace {

using memory::kPage;
using wire::NakCode;
using wire::Operation;
using wire::Position;

class ResponderTest : public ResponderFixture {
 protected:
  wire::RnrTimer PagesTimer() const { return wire::RnrTimerAtLeast(config_.page_service_estimate); }
};

TEST_F(ResponderTest, OneAcknowledgementCoversABurst) {
  for (int i = 0; i < 5; ++i) Deliver(WriteOnly(0, Pattern(8)));
  EXPECT_TRUE(responder_->wants_step());
  const Answer answer = OneAnswer();
  EXPECT_TRUE(answer.IsAck(PsnAt(4)));
  EXPECT_EQ(answer.aeth->msn, wire::Msn(5));
  EXPECT_FALSE(responder_->wants_step());
  EXPECT_TRUE(Answers().empty());
}

TEST_F(ResponderTest, OtherServicesAndResponsesAreDropped) {
  const auto drop = [this](wire::Service service, Operation operation) {
    DeliverAs(*wire::FindOpcode(service, operation), {}, psn_);
  };
  PostReceive(1);
  drop(wire::Service::kUc, Operation::kSend);
  drop(wire::Service::kRc, Operation::kAcknowledge);
  drop(wire::Service::kRc, Operation::kReadResponse);
  EXPECT_TRUE(Answers().empty());
  EXPECT_EQ(responder_->expected(), Psn(kStart));
}

TEST_F(ResponderTest, AGapGetsOneNak) {
  Deliver(WriteOnly(0, Pattern(8)));
  const Psn missing = psn_++;
  for (int i = 0; i < 3; ++i) Deliver(WriteOnly(0, Pattern(8, 100)));
  EXPECT_TRUE(OneAnswer().IsNak(missing.value(), NakCode::kPsnSequenceError));
  Deliver(WriteOnly(0, Pattern(8, 100)));
  EXPECT_TRUE(Answers().empty());
  EXPECT_EQ(Read(0, 8), Pattern(8));

  Deliver(WriteOnly(8, Pattern(8)),
          missing);  // the gap is filled, and the next one gets its own NAK
  EXPECT_TRUE(OneAnswer().IsAck(missing.value()));
  Deliver(WriteOnly(0, Pattern(8)), missing + 2);
  EXPECT_TRUE(OneAnswer().IsNak((missing + 1).value(), NakCode::kPsnSequenceError));
  EXPECT_FALSE(responder_->failure().has_value());
}

TEST_F(ResponderTest, AGapThatIsFilledBeforeTheNakGetsNone) {
  Deliver(WriteOnly(0, Pattern(8)), psn_ + 1);
  Deliver(WriteOnly(0, Pattern(8)), psn_);
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
}

TEST_F(ResponderTest, DuplicatesAreAcknowledgedAndNotExecuted) {
  Deliver(WriteOnly(0, Pattern(8)));
  Deliver(WriteOnly(8, Pattern(8)));
  Answers();
  Deliver(WriteOnly(0, Pattern(8, 50)), Psn(kStart));
  const Answer answer = OneAnswer();
  EXPECT_TRUE(answer.IsAck(PsnAt(1)));
  EXPECT_EQ(answer.aeth->msn, wire::Msn(2));
  EXPECT_EQ(Read(0, 8), Pattern(8));
}

TEST_F(ResponderTest, AMessageResumesAfterAReceiverNotReadyNak) {
  const Bytes bytes = Pattern(kMtu + 10);
  const Bytes head(bytes.begin(), bytes.begin() + kMtu);
  const Bytes tail(bytes.begin() + kMtu, bytes.end());
  const Request first{.operation = Operation::kWrite,
                      .position = Position::kFirst,
                      .payload = head,
                      .reth = RethOf(0, kMtu + 10)};
  const Request last{.operation = Operation::kWrite,
                     .position = Position::kLast,
                     .companion = wire::Companion::kImmediate,
                     .payload = tail,
                     .immediate = 77};
  Deliver(first);
  Deliver(last);
  EXPECT_TRUE(OneAnswer().IsRnrNak(PsnAt(1), kNotReadyTimer));
  Deliver({}, psn_);  // a later packet: the peer has got the NAK
  EXPECT_TRUE(Answers().empty());

  PostReceive(5);
  Deliver(last, Psn(PsnAt(1)));
  EXPECT_TRUE(OneAnswer().IsAck(PsnAt(1)));
  EXPECT_EQ(Read(0, bytes.size()), bytes);
  const auto completions = Completions();
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_EQ(completions[0].byte_count, bytes.size());
  EXPECT_EQ(completions[0].opcode, CompletionOpcode::kReceiveWithImmediate);
  EXPECT_EQ(completions[0].immediate, Immediate(77));
}

TEST_F(ResponderTest, AFatalNakIsTheLastPacket) {
  Deliver(
      {.operation = Operation::kWrite, .position = Position::kMiddle, .payload = Pattern(kMtu)});
  ASSERT_TRUE(responder_->failure().has_value());
  EXPECT_EQ(responder_->failure()->reason, NakReason(ResponderError::kOpcodeOutOfSequence));
  Deliver(WriteOnly(0, Pattern(8)), Psn(kStart));
  Deliver(WriteOnly(0, Pattern(8)), Psn(kStart) - 1);
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kInvalidRequest));
  EXPECT_EQ(events_, std::vector{AsyncEventType::kQpRequestError});
  EXPECT_TRUE(Answers().empty());
  EXPECT_FALSE(responder_->wants_step());
}

// DESIGN D6: a write into absent pages is acknowledged when they are present.
TEST_F(ResponderTest, AWriteIntoAbsentPagesIsAcknowledgedWhenTheyArePresent) {
  TakePagesAway(0, 2);
  const Bytes bytes = Pattern(kMtu);
  const Request first{.operation = Operation::kWrite,
                      .position = Position::kFirst,
                      .payload = bytes,
                      .reth = RethOf(0, 2 * kPage)};
  const Request middle{
      .operation = Operation::kWrite, .position = Position::kMiddle, .payload = bytes};
  Deliver(first);
  Deliver(middle);
  Deliver(middle);
  EXPECT_TRUE(OneAnswer().IsRnrNak(kStart, PagesTimer()));
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_EQ(requests_[0].qp, config_.local_qp);
  EXPECT_EQ(requests_[0].fault.page_count, 2u);

  Deliver(first, Psn(kStart));  // too early: refused again, without a new page request
  EXPECT_TRUE(OneAnswer().IsRnrNak(kStart, PagesTimer()));
  EXPECT_EQ(requests_.size(), 1u);

  PagesReady(FaultTicket(1));  // the ticket of another queue pair
  EXPECT_FALSE(responder_->wants_step());
  PageIn(0, 2);
  PagesReady(requests_[0].ticket);
  EXPECT_TRUE(OneAnswer().IsAck(kStart)) << "it was kept";
  Deliver(middle, Psn(PsnAt(2)));  // sent before the NAK arrived
  EXPECT_TRUE(Answers().empty());
  Deliver(middle, Psn(PsnAt(1)));
  EXPECT_TRUE(OneAnswer().IsAck(PsnAt(1)));
  EXPECT_EQ(Read(kMtu, kMtu), bytes);
}

TEST_F(ResponderTest, TheRnrTimerIsTheMeasuredPageServiceTime) {
  TakePagesAway(0, 1);
  page_service_ = Milliseconds(7);
  Deliver(WriteOnly(0, Pattern(8)));
  EXPECT_TRUE(OneAnswer().IsRnrNak(kStart, wire::RnrTimerAtLeast(Milliseconds(7))));
}

TEST_F(ResponderTest, UnavailablePagesEndTheConnection) {
  TakePagesAway(0, 1);
  Deliver(WriteOnly(0, Pattern(8)));
  EXPECT_TRUE(OneAnswer().IsRnrNak(kStart, PagesTimer()));
  PagesReady(requests_.at(0).ticket, false);
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kRemoteAccessError));
  EXPECT_EQ(responder_->failure()->reason, NakReason(ResponderError::kPagesUnavailable));
  EXPECT_EQ(events_, std::vector{AsyncEventType::kQpAccessError});
}

TEST_F(ResponderTest, ALatePageAnswerIsIgnored) {
  TakePagesAway(0, 1);
  Deliver(WriteOnly(0, Pattern(8)));
  Answers();
  PageIn(0, 1);
  Deliver(WriteOnly(0, Pattern(8)), Psn(kStart));
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
  PagesReady(requests_.at(0).ticket, false);
  EXPECT_FALSE(responder_->failure().has_value());
  EXPECT_TRUE(Answers().empty());
}

// The ticket belongs to a message that was executed meanwhile; the next one waits for other pages.
TEST_F(ResponderTest, APageAnswerForAnotherMessageIsIgnored) {
  TakePagesAway(0, 2);
  Deliver(WriteOnly(0, Pattern(8)));
  Answers();
  PageIn(0, 1);
  Deliver(WriteOnly(0, Pattern(8)), Psn(kStart));
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
  Deliver(WriteOnly(kPage, Pattern(8)), Psn(PsnAt(1)));
  EXPECT_TRUE(OneAnswer().IsRnrNak(PsnAt(1), PagesTimer()));
  ASSERT_EQ(requests_.size(), 2u);
  PagesReady(requests_[0].ticket, false);
  EXPECT_FALSE(responder_->failure().has_value());
  PageIn(1, 1);
  PagesReady(requests_[1].ticket);
  EXPECT_TRUE(OneAnswer().IsAck(PsnAt(1)));
}

TEST_F(ResponderTest, PagesMayArriveBeforeTheNakIsSent) {
  TakePagesAway(0, 1);
  Deliver(WriteOnly(0, Pattern(8)));
  PageIn(0, 1);
  PagesReady(outbox_.page_requests()[0].ticket);
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
}

// The peer learns from no other packet that they were dropped.
TEST_F(ResponderTest, PacketsDroppedAfterAHeldOneAreRequestedAgain) {
  TakePagesAway(0, 1);
  Deliver(WriteOnly(0, Pattern(8)));
  Deliver(WriteOnly(0, Pattern(8)));
  PageIn(0, 1);
  PagesReady(outbox_.page_requests()[0].ticket);
  EXPECT_TRUE(OneAnswer().IsNak(PsnAt(1), NakCode::kPsnSequenceError));
  Deliver(WriteOnly(0, Pattern(8)), Psn(PsnAt(1)));
  EXPECT_TRUE(OneAnswer().IsAck(PsnAt(1)));
}

TEST_F(ResponderTest, AHeldPacketIsDroppedWithItsConnection) {
  TakePagesAway(0, 1);
  Deliver(WriteOnly(0, Pattern(8)));
  const FaultTicket ticket = outbox_.page_requests()[0].ticket;
  responder_->Start(Psn(kStart));
  PageIn(0, 1);
  PagesReady(ticket);
  EXPECT_TRUE(Answers().empty());
  EXPECT_EQ(Read(0, 8), std::vector<std::byte>(8));
}

TEST_F(ResponderTest, AHeldPacketIsNotExecutedAfterAFlush) {
  TakePagesAway(0, 1);
  Deliver(WriteOnly(0, Pattern(8)));
  const FaultTicket ticket = outbox_.page_requests()[0].ticket;
  Step step = MakeStep();
  responder_->Flush(step);
  Answers();
  PageIn(0, 1);
  PagesReady(ticket);
  EXPECT_TRUE(Answers().empty());
  EXPECT_EQ(Read(0, 8), std::vector<std::byte>(8));
}

// A peer that sends another packet with the same PSN has abandoned the first.
TEST_F(ResponderTest, AHeldPacketIsReplacedByAnotherOfItsPsn) {
  TakePagesAway(0, 1);
  Deliver(WriteOnly(0, Pattern(8)), Psn(kStart));
  Answers();
  ASSERT_EQ(requests_.size(), 1u);
  Deliver({.operation = Operation::kSend, .payload = Pattern(8)}, Psn(kStart));
  EXPECT_TRUE(OneAnswer().IsRnrNak(kStart, kNotReadyTimer)) << "no receive request is posted";
  PageIn(0, 1);
  PagesReady(requests_[0].ticket);
  EXPECT_EQ(responder_->expected(), Psn(kStart));
  EXPECT_TRUE(Answers().empty());
}

TEST_F(ResponderTest, AFullOutboxDefersResponses) {
  TakePagesAway(0, 1);
  Deliver(WriteOnly(0, Pattern(8)));
  Step step = MakeStep();
  const FaultTicket ticket = outbox_.page_requests()[0].ticket;
  while (outbox_.room() > 0) outbox_.AddPacket();
  responder_->Pump(step);
  PageIn(0, 1);
  PagesReady(ticket);
  EXPECT_TRUE(responder_->wants_step());
  outbox_.Clear();
  EXPECT_TRUE(OneAnswer().IsAck(kStart));
}

TEST_F(ResponderTest, FlushEndsAllReceiveRequests) {
  PostReceive(1);
  PostReceive(2);
  PostReceive(3);
  Deliver({.position = Position::kFirst, .payload = Pattern(kMtu)});
  Step step = MakeStep();
  responder_->Flush(step);
  const auto completions = Completions();
  ASSERT_EQ(completions.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(completions[i].id, WrId(i + 1));
    EXPECT_EQ(completions[i].status, CompletionStatus::kFlushed);
  }
  PostReceive(4);
  responder_->Flush(step);
  EXPECT_EQ(Completions().size(), 1u);
}

TEST_F(ResponderTest, AFlushKeepsTheRequestsOfASharedQueue) {
  queue::SharedReceiveQueue shared(4, 1);
  const std::vector sges = {SgeOf(2 * kPage, 4096)};
  for (uint64_t i = 1; i <= 2; ++i) {
    ASSERT_TRUE(shared.Post({.wqe = {.id = WrId(i)}, .sges = sges}).has_value());
  }
  BeginOn(ReceiveSource(shared, pd_));
  Deliver({.position = Position::kFirst, .payload = Pattern(kMtu)});
  EXPECT_EQ(OneAnswer().aeth->syndrome, wire::Syndrome::Ack(wire::kCreditsInvalid));
  Step step = MakeStep();
  responder_->Flush(step);
  responder_->Flush(step);
  Answers();
  EXPECT_EQ(events_, std::vector{AsyncEventType::kLastWqeReached});
  ASSERT_EQ(Completions().size(), 1u);
  EXPECT_EQ(shared.size(), 1u);
  EXPECT_TRUE(shared.IsConsistent());
}

}  // namespace
}  // namespace verbena::transport
