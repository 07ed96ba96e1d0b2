#include <gtest/gtest.h>

#include "tests/support/responder_fixture.h"
#include "transport/rc/responder.h"

namespace verbena::transport {
namespace {

using memory::Denial;
using memory::kPage;
using wire::NakCode;
using wire::Operation;
using wire::Position;
using wire::Psn;

class ResponderSendTest : public ResponderFixture {
 protected:
  ResponderSendTest() { std::ranges::copy(Pattern(arena_.size()), arena_.data()); }

  Request ReadOf(uint64_t offset, uint32_t length) const {
    return {.operation = Operation::kReadRequest, .reth = RethOf(offset, length)};
  }
  Request WriteOnly(uint64_t offset, const Bytes& payload) const {
    return {.operation = Operation::kWrite,
            .payload = payload,
            .reth = RethOf(offset, static_cast<uint32_t>(payload.size()))};
  }
  // A run of read responses: positions and PSNs fit, and these are its bytes.
  void ExpectRun(const std::vector<Answer>& answers, uint32_t first_psn, const Bytes& expected) {
    Bytes bytes;
    for (size_t i = 0; i < answers.size(); ++i) {
      const bool is_first = i == 0;
      const bool is_last = i + 1 == answers.size();
      const Position position = is_first ? (is_last ? Position::kOnly : Position::kFirst)
                                         : (is_last ? Position::kLast : Position::kMiddle);
      EXPECT_EQ(answers[i].operation, Operation::kReadResponse);
      EXPECT_EQ(answers[i].position, position);
      EXPECT_EQ(answers[i].psn, (Psn(first_psn) + static_cast<uint32_t>(i)).value());
      bytes.insert(bytes.end(), answers[i].payload.begin(), answers[i].payload.end());
    }
    EXPECT_EQ(bytes, expected);
  }
};

TEST_F(ResponderSendTest, AReadIsAnsweredInPackets) {
  Deliver(ReadOf(kPage - 300, 3 * kMtu + 1));
  EXPECT_EQ(responder_->expected().value(), PsnAt(4));
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 4u);
  ExpectRun(answers, kStart, Read(kPage - 300, 3 * kMtu + 1));
  EXPECT_EQ(answers[0].aeth->msn, wire::Msn(1));
  EXPECT_FALSE(answers[1].aeth.has_value());
  EXPECT_FALSE(responder_->wants_turn());
}

TEST_F(ResponderSendTest, AReadOfNoBytesNeedsNoKey) {
  Deliver({.operation = Operation::kReadRequest});
  ExpectRun({OneAnswer()}, kStart, {});
}

TEST_F(ResponderSendTest, RepliesAndAcknowledgementsKeepTheirOrder) {
  Deliver(WriteOnly(0, Pattern(8)));
  Deliver(ReadOf(0, 8));
  Deliver(WriteOnly(64, Pattern(8)));
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 2u);  // the reply acknowledges the first write
  EXPECT_EQ(answers[0].psn, PsnAt(1));
  EXPECT_EQ(answers[0].aeth->msn, wire::Msn(2));
  EXPECT_TRUE(answers[1].IsAck(PsnAt(2)));
}

TEST_F(ResponderSendTest, GoesOnWhenTheOutboxHasRoomAgain) {
  const auto length = static_cast<uint32_t>(20 * kMtu);  // the outbox holds 16
  Deliver(ReadOf(0, length));
  auto answers = Answers();
  EXPECT_EQ(answers.size(), 16u);
  EXPECT_TRUE(responder_->wants_turn());
  const auto rest = Answers();
  answers.insert(answers.end(), rest.begin(), rest.end());
  ASSERT_EQ(answers.size(), 20u);
  ExpectRun(answers, kStart, Read(0, length));
}

TEST_F(ResponderSendTest, ADuplicateReadIsReadAgain) {
  Deliver(ReadOf(0, 8));
  Answers();
  SetWord(0, 0x1234);
  Deliver(ReadOf(0, 8), Psn(kStart));
  ExpectRun({OneAnswer()}, kStart, Read(0, 8));
  EXPECT_EQ(responder_->msn(), wire::Msn(1));
}

TEST_F(ResponderSendTest, ThePeerMayAskForTheRestOfARead) {
  Deliver(ReadOf(0, 3 * kMtu + 5));
  Answers();
  Deliver(ReadOf(kMtu, 2 * kMtu + 5), Psn(PsnAt(1)));
  ExpectRun(Answers(), PsnAt(1), Read(kMtu, 2 * kMtu + 5));
  Deliver(ReadOf(kMtu, kMtu + 7), Psn(PsnAt(1)));  // or for a part of it
  ExpectRun(Answers(), PsnAt(1), Read(kMtu, kMtu + 7));
}

TEST_F(ResponderSendTest, ADuplicateReadOfOtherBytesIsDropped) {
  Deliver(ReadOf(0, 2 * kMtu));
  Answers();
  Deliver(ReadOf(1, 2 * kMtu), Psn(kStart));      // elsewhere
  Deliver(ReadOf(0, 2 * kMtu + 1), Psn(kStart));  // longer
  Deliver(ReadOf(0, kMtu), Psn(PsnAt(1)));        // not what that PSN stands for
  Deliver(ReadOf(0, 2 * kMtu), Psn(kStart) - 1);  // before our time
  Deliver({.operation = Operation::kFetchAdd, .atomic = AtomicOf(0, 1)}, Psn(kStart));
  EXPECT_TRUE(Answers().empty());
  EXPECT_FALSE(responder_->failure().has_value());
}

// The peer has its answer, most likely, and the network has doubled its request: no byte leaves,
// and the connection is none the worse.
TEST_F(ResponderSendTest, ADuplicateReadAfterTheKeyDiedIsDropped) {
  Deliver(ReadOf(0, 8));
  Answers();
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(region_.local)));
  Deliver(ReadOf(0, 8), Psn(kStart));
  EXPECT_TRUE(Answers().empty());
  EXPECT_FALSE(responder_->failure().has_value());
}

TEST_F(ResponderSendTest, AtomicsHappenOnceHoweverOftenTheyCome) {
  SetWord(0, 7);
  const Request add{.operation = Operation::kFetchAdd, .atomic = AtomicOf(0, 1)};
  Deliver(add);
  EXPECT_EQ(OneAnswer().original, 7u);
  SetWord(0, 50);
  for (int i = 0; i < 3; ++i) {
    Deliver(add, Psn(kStart));
    const Answer again = OneAnswer();
    EXPECT_EQ(again.original, 7u);
    EXPECT_EQ(again.psn, kStart);
  }
  EXPECT_EQ(WordAt(0), 50u);
}

TEST_F(ResponderSendTest, AtomicWritesHappenOnceToo) {
  const Request store{
      .operation = Operation::kAtomicWrite, .payload = Pattern(8), .reth = RethOf(0, 8)};
  Deliver(store);
  Answers();
  SetWord(0, 50);
  Deliver(store, Psn(kStart));
  EXPECT_EQ(OneAnswer().operation, Operation::kReadResponse);
  EXPECT_EQ(WordAt(0), 50u);
}

TEST_F(ResponderSendTest, WhatIsForgottenIsNotAnswered) {
  const Request add{.operation = Operation::kFetchAdd, .atomic = AtomicOf(0, 1)};
  for (int i = 0; i < 3; ++i) {
    Deliver(add);
    Answers();
  }
  const uint64_t before = WordAt(0);
  Deliver(add, Psn(kStart));  // two are kept
  EXPECT_TRUE(Answers().empty());
  Deliver(add, Psn(PsnAt(1)));
  EXPECT_EQ(Answers().size(), 1u);
  EXPECT_EQ(WordAt(0), before);
}

TEST_F(ResponderSendTest, AReadOfAbsentPagesIsHeldWithoutNotice) {
  TakePagesAway(0, 2);
  Deliver(WriteOnly(2 * kPage, Pattern(8)));
  Deliver(ReadOf(0, 2 * kMtu));
  Deliver(WriteOnly(2 * kPage, Pattern(8)));
  EXPECT_TRUE(OneAnswer().IsAck(kStart));  // what came before is acknowledged by itself
  EXPECT_FALSE(responder_->wants_turn());
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_FALSE(requests_[0].fault.for_write);
  EXPECT_TRUE(Answers().empty());

  BringPages(0, 2);
  PagesReady(requests_[0].ticket);
  EXPECT_TRUE(responder_->wants_turn());
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 3u);
  ExpectRun({answers[0], answers[1]}, PsnAt(1), Read(0, 2 * kMtu));
  EXPECT_TRUE(answers[2].IsAck(PsnAt(3)));
}

TEST_F(ResponderSendTest, TheWholeRestOfAReadIsAskedFor) {
  TakePagesAway(1, 3);
  Deliver(ReadOf(kPage - kMtu, kMtu + 2 * kPage + 1));
  EXPECT_EQ(Answers().size(), 1u);
  EXPECT_EQ(requests_.at(0).fault.first_page, 1u);
  EXPECT_EQ(requests_.at(0).fault.page_count, 3u);
}

TEST_F(ResponderSendTest, AReadAndAWriteWaitForTheirPagesSideBySide) {
  TakePagesAway(0, 2);
  Deliver(ReadOf(0, 8));
  Answers();
  Deliver(WriteOnly(kPage, Pattern(8)));
  Answers();
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_TRUE(requests_[1].fault.for_write);
  BringPages(0, 2);
  PagesReady(requests_[1].ticket);
  EXPECT_FALSE(responder_->wants_turn());  // nothing overtakes the reply
  PagesReady(requests_[0].ticket);
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].operation, Operation::kReadResponse);
  EXPECT_TRUE(answers[1].IsAck(PsnAt(1)));
}

// As the adapter does with packets whose payload is gone.
TEST_F(ResponderSendTest, AnswersThatCouldNotBeSentAreSentAgainInOrder) {
  Deliver(ReadOf(0, 2 * kMtu));
  SetWord(2 * kPage, 5);
  Deliver({.operation = Operation::kFetchAdd, .atomic = AtomicOf(2 * kPage, 1)});
  Deliver(WriteOnly(2 * kPage, Pattern(8)));
  Turn turn = MakeTurn();
  responder_->Pump(turn);
  ASSERT_EQ(outbox_.packets().size(), 4u);
  TakePagesAway(0, 1);
  for (size_t i = 1; i < 4; ++i)
    EXPECT_TRUE(responder_->TakeBack(outbox_.packets()[i], i == 1, turn));
  outbox_.Clear();
  EXPECT_TRUE(Answers().empty());
  ASSERT_EQ(requests_.size(), 1u);
  BringPages(0, 1);
  PagesReady(requests_[0].ticket);
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].psn, PsnAt(1));
  EXPECT_EQ(answers[0].payload, Read(kMtu, kMtu));
  EXPECT_EQ(answers[1].original, 5u);
  EXPECT_TRUE(answers[2].IsAck(PsnAt(3)));
}

TEST_F(ResponderSendTest, ANakIsNotTakenBack) {
  Deliver(WriteOnly(4 * kPage, Pattern(8)));
  Turn turn = MakeTurn();
  responder_->Pump(turn);
  ASSERT_EQ(outbox_.packets().size(), 1u);
  EXPECT_FALSE(responder_->TakeBack(outbox_.packets()[0], false, turn));
  outbox_.Clear();
}

TEST_F(ResponderSendTest, AnAnswerThatIsLostAgainAndAgainIsAnError) {
  Deliver(ReadOf(0, 8));
  Turn turn = MakeTurn();
  int tries = 0;
  for (; !responder_->failure() && tries < 1000; ++tries) {
    responder_->Pump(turn);
    ASSERT_EQ(outbox_.packets().size(), 1u);
    EXPECT_TRUE(responder_->TakeBack(outbox_.packets()[0], true, turn));
    outbox_.Clear();
  }
  EXPECT_EQ(tries, kLossesMax + 1);
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kRemoteAccessError));
}

TEST_F(ResponderSendTest, AHeldReadWhosePagesCannotBeHadIsRefused) {
  TakePagesAway(0, 1);
  Deliver(ReadOf(0, 8));
  Deliver(ReadOf(kPage, 8));
  EXPECT_TRUE(Answers().empty());
  PagesReady(requests_.at(0).ticket, false);
  EXPECT_TRUE(OneAnswer().IsNak(kStart, NakCode::kRemoteAccessError));
  EXPECT_EQ(responder_->failure()->cause, Cause(Reason::kPagesUnavailable));
  EXPECT_EQ(events_, std::vector{AsyncEventType::kQpAccessError});
}

TEST_F(ResponderSendTest, AKeyThatDiesDuringTheAnswerEndsIt) {
  PostReceive(1);
  Deliver(ReadOf(0, 20 * kMtu));
  Deliver({.position = Position::kFirst, .payload = Pattern(kMtu)});
  EXPECT_EQ(Answers().size(), 16u);
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(region_.local)));
  const Answer answer = OneAnswer();
  EXPECT_TRUE(answer.IsNak(PsnAt(16), NakCode::kRemoteAccessError));
  EXPECT_EQ(answer.aeth->msn, wire::Msn(0));
  EXPECT_TRUE(Completions().empty());  // the send's receive request is flushed with the others
  Turn turn = MakeTurn();
  responder_->Flush(turn);
  EXPECT_EQ(Completions().at(0).status, queue::CompletionStatus::kFlushed);
}

// The network may deliver a request twice, and the second long after it was answered.
TEST_F(ResponderSendTest, ALateDuplicateThatIsHeldGivesWayToNewRequests) {
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

TEST_F(ResponderSendTest, ADuplicateBeforeAHeldReadIsAnsweredMeanwhile) {
  Deliver(ReadOf(kPage, 8));
  Answers();
  TakePagesAway(0, 1);
  Deliver(ReadOf(0, 8));
  EXPECT_TRUE(Answers().empty());
  Deliver(ReadOf(kPage, 8), Psn(kStart));
  EXPECT_EQ(OneAnswer().psn, kStart);
  EXPECT_FALSE(responder_->wants_turn());
  EXPECT_TRUE(responder_->owes_answers());
  BringPages(0, 1);
  PagesReady(requests_.at(0).ticket);
  EXPECT_EQ(OneAnswer().psn, PsnAt(1));
  EXPECT_FALSE(responder_->owes_answers());
}

// Row A5.
class ResponderOneTouchTest : public ResponderSendTest {
 protected:
  ResponderOneTouchTest() {
    const memory::RegionSpec spec{.pd = pd_,
                                  .start = memory::KeyAddress(AddressOf(0)),
                                  .length = kPage,
                                  .rights = memory::Rights::kAll,
                                  .one_touch = true};
    const std::vector pages = {memory::PhysicalAddress(AddressOf(0))};
    keys_ = *core_.regions.Register(spec, memory::PageListBacking{pages, 0, memory::kSmall});
    read_ = ReadOf(0, 2 * kMtu);
    read_.reth.r_key = wire::RKey(keys_.remote.value());
  }
  bool KeyIsValid() { return EntryOf(keys_.local).state == memory::EntryState::kValid; }

  memory::RegionKeys keys_;
  Request read_;
};

TEST_F(ResponderOneTouchTest, ASecondReadIsRefused) {
  Deliver(read_);
  ExpectRun(Answers(), kStart, Read(0, 2 * kMtu));
  Deliver(read_);
  EXPECT_TRUE(OneAnswer().IsNak(PsnAt(2), NakCode::kRemoteAccessError));
}

TEST_F(ResponderOneTouchTest, SoIsOneThatCameBeforeTheFirstWasAnswered) {
  Deliver(read_);
  Deliver(read_);
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_TRUE(answers[2].IsNak(PsnAt(2), NakCode::kRemoteAccessError));
}

// A long read may come in parts: one that goes on where the last one ended is the same read.
TEST_F(ResponderOneTouchTest, OneThatGoesOnWhereTheFirstEndedIsTheSame) {
  Deliver(read_);
  Answers();
  Request rest = ReadOf(2 * kMtu, kMtu);
  rest.reth.r_key = read_.reth.r_key;
  Deliver(rest);
  ExpectRun(Answers(), PsnAt(2), Read(2 * kMtu, kMtu));
  Deliver(rest, Psn(PsnAt(2)));
  ExpectRun(Answers(), PsnAt(2), Read(2 * kMtu, kMtu));
  Deliver(rest, psn_);
  EXPECT_TRUE(OneAnswer().IsNak(PsnAt(3), NakCode::kRemoteAccessError));
}

TEST_F(ResponderOneTouchTest, NoOtherKindOfRequestMayUseItThen) {
  Deliver(read_);
  Answers();
  Request write = WriteOnly(0, Pattern(8, 99));
  write.reth.r_key = read_.reth.r_key;
  const Bytes before = Read(0, 8);
  Deliver(write);
  EXPECT_TRUE(OneAnswer().IsNak(PsnAt(2), NakCode::kRemoteAccessError));
  EXPECT_EQ(Read(0, 8), before);
}

// Packets of the answer may be lost: that read, and no other, is answered again.
TEST_F(ResponderOneTouchTest, TheReadItselfMayBeRepeated) {
  Deliver(read_);
  Answers();
  Deliver(read_, Psn(kStart));
  ExpectRun(Answers(), kStart, Read(0, 2 * kMtu));
  EXPECT_TRUE(KeyIsValid());
}

TEST_F(ResponderOneTouchTest, ButNotForEver) {
  Deliver(read_);
  Answers();
  for (int i = 0; i < Reply::kRepeatsMax; ++i) {
    Deliver(read_, Psn(kStart));
    EXPECT_EQ(Answers().size(), 2u);
  }
  Deliver(read_, Psn(kStart));
  EXPECT_TRUE(Answers().empty());
  EXPECT_FALSE(KeyIsValid());
}

TEST_F(ResponderOneTouchTest, TheKeyEndsWhenTheReadIsForgotten) {
  Deliver(read_);
  Answers();
  for (int i = 0; i < 2; ++i) Deliver(ReadOf(0, 8));
  EXPECT_FALSE(KeyIsValid());
}

TEST_F(ResponderOneTouchTest, TheKeyEndsWithTheConnection) {
  Deliver(read_);
  Answers();
  Turn turn = MakeTurn();
  responder_->Flush(turn);
  EXPECT_FALSE(KeyIsValid());
}

TEST_F(ResponderSendTest, ANakWaitsForTheRepliesBeforeIt) {
  Deliver(ReadOf(0, 8));
  Deliver(WriteOnly(0, Pattern(8)), psn_ + 1);
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].operation, Operation::kReadResponse);
  EXPECT_TRUE(answers[1].IsNak(PsnAt(1), NakCode::kPsnSequenceError));
}

}  // namespace
}  // namespace verbena::transport
