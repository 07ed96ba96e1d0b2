#include <gtest/gtest.h>

#include "tests/support/responder_read_fixture.h"
#include "transport/rc/responder.h"

namespace verbena::transport {
namespace {

using memory::kPage;
using wire::NakCode;
using wire::Operation;
using wire::Position;

using ResponderSendTest = ResponderReadFixture;

TEST_F(ResponderSendTest, AReadGetsResponsePackets) {
  Deliver(ReadOf(kPage - 300, 3 * kMtu + 1));
  EXPECT_EQ(responder_->expected().value(), PsnAt(4));
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 4u);
  ExpectRun(answers, kStart, Read(kPage - 300, 3 * kMtu + 1));
  EXPECT_EQ(answers[0].aeth->msn, wire::Msn(1));
  EXPECT_FALSE(answers[1].aeth.has_value());
  EXPECT_FALSE(responder_->wants_step());
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

TEST_F(ResponderSendTest, ContinuesWhenTheOutboxHasRoom) {
  const auto length = static_cast<uint32_t>(20 * kMtu);  // the outbox holds 16
  Deliver(ReadOf(0, length));
  auto answers = Answers();
  EXPECT_EQ(answers.size(), 16u);
  EXPECT_TRUE(responder_->wants_step());
  const auto rest = Answers();
  answers.insert(answers.end(), rest.begin(), rest.end());
  ASSERT_EQ(answers.size(), 20u);
  ExpectRun(answers, kStart, Read(0, length));
}

TEST_F(ResponderSendTest, ADuplicateReadIsExecutedAgain) {
  Deliver(ReadOf(0, 8));
  Answers();
  SetWord(0, 0x1234);
  Deliver(ReadOf(0, 8), Psn(kStart));
  ExpectRun({OneAnswer()}, kStart, Read(0, 8));
  EXPECT_EQ(responder_->msn(), wire::Msn(1));
}

TEST_F(ResponderSendTest, ThePeerMayRequestTheRemainderOfARead) {
  Deliver(ReadOf(0, 3 * kMtu + 5));
  Answers();
  Deliver(ReadOf(kMtu, 2 * kMtu + 5), Psn(PsnAt(1)));
  ExpectRun(Answers(), PsnAt(1), Read(kMtu, 2 * kMtu + 5));
  Deliver(ReadOf(kMtu, kMtu + 7), Psn(PsnAt(1)));  // a part of it
  ExpectRun(Answers(), PsnAt(1), Read(kMtu, kMtu + 7));
}

TEST_F(ResponderSendTest, ADuplicateReadOfOtherBytesIsDropped) {
  Deliver(ReadOf(0, 2 * kMtu));
  Answers();
  Deliver(ReadOf(1, 2 * kMtu), Psn(kStart));      // another address
  Deliver(ReadOf(0, 2 * kMtu + 1), Psn(kStart));  // longer
  Deliver(ReadOf(0, kMtu), Psn(PsnAt(1)));        // not the range of that PSN
  Deliver(ReadOf(0, 2 * kMtu), Psn(kStart) - 1);  // before the first request
  Deliver({.operation = Operation::kFetchAdd, .atomic = AtomicOf(0, 1)}, Psn(kStart));
  EXPECT_TRUE(Answers().empty());
  EXPECT_FALSE(responder_->failure().has_value());
}

// The peer most likely has the response, and the network has duplicated the request: no byte is
// sent, and the connection stays alive.
TEST_F(ResponderSendTest, ADuplicateReadWithAnInvalidatedKeyIsDropped) {
  Deliver(ReadOf(0, 8));
  Answers();
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(region_.local)));
  Deliver(ReadOf(0, 8), Psn(kStart));
  EXPECT_TRUE(Answers().empty());
  EXPECT_FALSE(responder_->failure().has_value());
}

TEST_F(ResponderSendTest, ADuplicateAtomicIsNotExecutedAgain) {
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

TEST_F(ResponderSendTest, ADuplicateAtomicWriteIsNotExecutedAgain) {
  const Request store{
      .operation = Operation::kAtomicWrite, .payload = Pattern(8), .reth = RethOf(0, 8)};
  Deliver(store);
  Answers();
  SetWord(0, 50);
  Deliver(store, Psn(kStart));
  EXPECT_EQ(OneAnswer().operation, Operation::kReadResponse);
  EXPECT_EQ(WordAt(0), 50u);
}

TEST_F(ResponderSendTest, ADuplicateOutsideTheCacheIsDropped) {
  const Request add{.operation = Operation::kFetchAdd, .atomic = AtomicOf(0, 1)};
  for (int i = 0; i < 3; ++i) {
    Deliver(add);
    Answers();
  }
  const uint64_t before = WordAt(0);
  Deliver(add, Psn(kStart));  // the cache has two entries
  EXPECT_TRUE(Answers().empty());
  Deliver(add, Psn(PsnAt(1)));
  EXPECT_EQ(Answers().size(), 1u);
  EXPECT_EQ(WordAt(0), before);
}

TEST_F(ResponderSendTest, AKeyInvalidatedDuringTheResponseEndsIt) {
  PostReceive(1);
  Deliver(ReadOf(0, 20 * kMtu));
  Deliver({.position = Position::kFirst, .payload = Pattern(kMtu)});
  EXPECT_EQ(Answers().size(), 16u);
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(region_.local)));
  const Answer answer = OneAnswer();
  EXPECT_TRUE(answer.IsNak(PsnAt(16), NakCode::kRemoteAccessError));
  EXPECT_EQ(answer.aeth->msn, wire::Msn(0));
  EXPECT_TRUE(Completions().empty());  // the send's receive request is flushed with the others
  Step step = MakeStep();
  responder_->Flush(step);
  EXPECT_EQ(Completions().at(0).status, CompletionStatus::kFlushed);
}

TEST_F(ResponderSendTest, ANakFollowsTheRepliesBeforeIt) {
  Deliver(ReadOf(0, 8));
  Deliver(WriteOnly(0, Pattern(8)), psn_ + 1);
  const auto answers = Answers();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].operation, Operation::kReadResponse);
  EXPECT_TRUE(answers[1].IsNak(PsnAt(1), NakCode::kPsnSequenceError));
}

}  // namespace
}  // namespace verbena::transport
