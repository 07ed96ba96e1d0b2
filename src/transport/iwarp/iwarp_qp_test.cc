#include "transport/iwarp/iwarp_qp.h"

#include <gtest/gtest.h>

#include "tests/support/iwarp_end.h"

namespace verbena::transport {
namespace {

using queue::SendOpcode;
using scenario::Bytes;
using scenario::IwarpSpec;
using scenario::RcNode;
using wire::TerminateCode;
using Statuses = std::vector<CompletionStatus>;
using Ids = std::vector<uint64_t>;

constexpr CompletionStatus kOk = CompletionStatus::kSuccess;
constexpr uint64_t kPage = RcNode::kPage;

class IwarpQpTest : public scenario::IwarpPair {
 protected:
  // Different bytes everywhere.
  void FillA() {
    for (uint64_t i = 0; i < a_->node.arena.size(); ++i) {
      *a_->node.At(i) = static_cast<std::byte>(i % 251 + i / 1000);
    }
  }
};

TEST_F(IwarpQpTest, ASendFillsTheReceiveOfThePeer) {
  Connect();
  FillA();
  b_->PostReceive(1, 100, 2000);
  a_->Post(scenario::SendOf(2), {a_->node.Local(11, 700), a_->node.Local(5000, 300)});
  Settle();
  const auto received = b_->Received();
  ASSERT_EQ(received.size(), 1);
  EXPECT_EQ(received[0].id, WrId(1));
  EXPECT_EQ(received[0].status, kOk);
  EXPECT_EQ(received[0].opcode, CompletionOpcode::kReceive);
  EXPECT_EQ(received[0].byte_count, 1000);
  EXPECT_EQ(b_->node.Read(100, 700), a_->node.Read(11, 700));
  EXPECT_EQ(b_->node.Read(800, 300), a_->node.Read(5000, 300));
  const auto sent = a_->Sent();
  ASSERT_EQ(sent.size(), 1);
  EXPECT_EQ(sent[0].id, WrId(2));
  EXPECT_EQ(sent[0].status, kOk);
  EXPECT_EQ(sent[0].qp, QpNumber(7));
}

TEST_F(IwarpQpTest, AMessageOfNoBytesIsAMessage) {
  Connect();
  b_->PostReceive(1, 0, 10);
  a_->Post(scenario::SendOf(2));
  a_->Post(scenario::WriteOf(3, {}));
  a_->Post(scenario::ReadOf(4, {}));
  Settle();
  EXPECT_EQ(StatusesOf(b_->Received()), Statuses({kOk}));
  EXPECT_EQ(StatusesOf(a_->Sent()), Statuses({kOk, kOk, kOk}));
}

TEST_F(IwarpQpTest, AWriteChangesTheMemoryOfThePeerAlone) {
  Connect();
  FillA();
  a_->Post(scenario::WriteOf(1, b_->node.Remote(50)), {a_->node.Local(7, 5000)});
  Settle(113);
  EXPECT_EQ(b_->node.Read(50, 5000), a_->node.Read(7, 5000));
  EXPECT_EQ(b_->node.Read(0, 50), Bytes(50));
  EXPECT_EQ(b_->node.Read(5050, 50), Bytes(50));
  EXPECT_EQ(StatusesOf(a_->Sent()), Statuses({kOk}));
  EXPECT_TRUE(b_->Received().empty());
}

TEST_F(IwarpQpTest, AReadFetchesTheMemoryOfThePeer) {
  Connect();
  FillA();
  b_->Post(scenario::ReadOf(1, a_->node.Remote(77)),
           {b_->node.Local(3, 1500), b_->node.Local(4000, 2500)});
  Settle(64);
  EXPECT_EQ(b_->node.Read(3, 1500), a_->node.Read(77, 1500));
  EXPECT_EQ(b_->node.Read(4000, 2500), a_->node.Read(1577, 2500));
  const auto sent = b_->Sent();
  ASSERT_EQ(sent.size(), 1);
  EXPECT_EQ(sent[0].opcode, CompletionOpcode::kRead);
  EXPECT_EQ(sent[0].byte_count, 4000);
}

TEST_F(IwarpQpTest, AtomicsReturnTheValueBefore) {
  Connect();
  b_->node.SetWord(64, 40);
  a_->Post(scenario::FetchAddOf(1, b_->node.Remote(64), 2), {a_->node.Local(0, 8)});
  a_->Post(scenario::CompareSwapOf(2, b_->node.Remote(64), 42, 7), {a_->node.Local(8, 8)});
  a_->Post(scenario::CompareSwapOf(3, b_->node.Remote(64), 42, 9), {a_->node.Local(16, 8)});
  Settle();
  EXPECT_EQ(StatusesOf(a_->Sent()), Statuses({kOk, kOk, kOk}));
  EXPECT_EQ(a_->node.WordAt(0), 40);
  EXPECT_EQ(a_->node.WordAt(8), 42);
  EXPECT_EQ(a_->node.WordAt(16), 7);
  EXPECT_EQ(b_->node.WordAt(64), 7);
}

TEST_F(IwarpQpTest, AWriteWithImmediateCompletesAReceive) {
  Connect();
  FillA();
  b_->PostReceive(5, 0, 0);
  queue::SendWqe write =
      scenario::RequestOf(1, SendOpcode::kWriteWithImmediate, b_->node.Remote(100));
  write.immediate = Immediate(0x01020304);
  a_->Post(write, {a_->node.Local(0, 1000)});
  Settle();
  const auto received = b_->Received();
  ASSERT_EQ(received.size(), 1);
  EXPECT_EQ(received[0].opcode, CompletionOpcode::kReceiveWithImmediate);
  EXPECT_TRUE(received[0].with_immediate);
  EXPECT_EQ(received[0].immediate, Immediate(0x01020304));
  EXPECT_EQ(received[0].byte_count, 1000);
  EXPECT_EQ(b_->node.Read(100, 1000), a_->node.Read(0, 1000));
}

TEST_F(IwarpQpTest, ASendCanInvalidateAKeyOfThePeer) {
  Connect();
  const Key window = *b_->node.core.windows.Allocate(b_->node.pd, WindowType::k2B);
  const auto bound = b_->node.core.windows.Bind(window,
                                                {.region = b_->node.keys.local,
                                                 .start = KeyAddress(RcNode::kBase),
                                                 .length = 100,
                                                 .rights = Access::kRemoteWrite,
                                                 .variant = KeyVariant(77)},
                                                b_->who);
  ASSERT_TRUE(bound.has_value());
  b_->PostReceive(1, 0, 10);
  a_->Post(scenario::SendInvalidateOf(2, *bound));
  Settle();
  const auto received = b_->Received();
  ASSERT_EQ(received.size(), 1);
  EXPECT_TRUE(received[0].with_invalidate);
  EXPECT_EQ(received[0].invalidated, *bound);
  a_->Post(scenario::WriteOf(3, RcNode::Remote(0, *bound)), {a_->node.Local(0, 8)});
  Settle();
  EXPECT_EQ(a_->qp->terminate_received()->code, TerminateCode::kDdpTaggedInvalidStag);
}

TEST_F(IwarpQpTest, ASolicitedSendRaisesAnEvent) {
  Connect();
  b_->receive_cq.Arm(queue::CompletionQueue::Wanted::kSolicited);
  b_->PostReceive(1, 0, 10);
  b_->PostReceive(2, 0, 10);
  a_->Post(scenario::SendOf(3));
  queue::SendWqe solicited = scenario::SendOf(4);
  solicited.flags.solicited = true;
  a_->Post(solicited);
  a_->Run();
  const Bytes bytes = a_->TakeBytes();
  transport::Step step = b_->MakeStep();
  Bytes first(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.size() / 2));
  EXPECT_EQ(b_->qp->OnBytes(wire::StreamOffset(0), first, step), first.size());
  EXPECT_TRUE(b_->node.outbox.completion_events().empty());
  Bytes second(bytes.begin() + static_cast<ptrdiff_t>(bytes.size() / 2), bytes.end());
  EXPECT_EQ(b_->qp->OnBytes(wire::StreamOffset(first.size()), second, step), second.size());
  EXPECT_EQ(b_->node.outbox.completion_events().size(), 1);
  b_->node.outbox.Clear();
}

TEST_F(IwarpQpTest, InlineBytesAreThoseOfThePost) {
  Connect();
  b_->PostReceive(1, 0, 64);
  Bytes text(40, std::byte{'x'});
  queue::SendWqe send = scenario::SendOf(2);
  send.flags.inlined = true;
  a_->Post(send, {{reinterpret_cast<uintptr_t>(text.data()), 40, Key()}});
  text.assign(40, std::byte{'y'});
  Settle();
  EXPECT_EQ(b_->node.Read(0, 40), Bytes(40, std::byte{'x'}));
}

TEST_F(IwarpQpTest, CompletionsAreInTheOrderOfTheQueue) {
  Connect();
  b_->PostReceive(1, 0, 100);
  a_->Post(scenario::ReadOf(1, b_->node.Remote(0)), {a_->node.Local(0, 100)});
  a_->Post(scenario::SendOf(2), {a_->node.Local(200, 100)});
  a_->Run();
  EXPECT_TRUE(a_->Sent().empty());  // the send is framed, and waits for the read before it
  Settle();
  EXPECT_EQ(IdsOf(a_->Sent()), Ids({1, 2}));
}

TEST_F(IwarpQpTest, AnUnsignaledElementHasNoCompletion) {
  Connect();
  queue::SendWqe write = scenario::WriteOf(1, b_->node.Remote(0));
  write.flags.signaled = false;
  a_->Post(write, {a_->node.Local(0, 8)});
  a_->Post(scenario::WriteOf(2, b_->node.Remote(8)), {a_->node.Local(0, 8)});
  Settle();
  EXPECT_EQ(IdsOf(a_->Sent()), Ids({2}));
}

// ORD: no more reads than were negotiated are outstanding, and the peer has an entry for each.
TEST_F(IwarpQpTest, ReadsBeyondTheNegotiatedDepthWait) {
  IwarpSpec spec;
  spec.config.max_rd_atomic = spec.config.max_dest_rd_atomic = 2;
  Connect(spec, spec);
  for (uint64_t id = 1; id <= 6; ++id) {
    a_->Post(scenario::ReadOf(id, b_->node.Remote(0)), {a_->node.Local(0, 600)});
  }
  a_->Run();
  const Bytes requests = a_->TakeBytes();
  EXPECT_EQ(requests.size(), 2 * wire::FpduContentSize(18 + 28));
  b_->Arrive(requests);
  Settle();
  EXPECT_EQ(IdsOf(a_->Sent()), Ids({1, 2, 3, 4, 5, 6}));
}

TEST_F(IwarpQpTest, APeerThatSendsMoreReadsThanNegotiatedIsTerminated) {
  IwarpSpec greedy;
  greedy.config.max_rd_atomic = 3;
  IwarpSpec narrow;
  narrow.config.max_dest_rd_atomic = 2;
  Connect(greedy, narrow);
  for (uint64_t id = 1; id <= 3; ++id) {
    a_->Post(scenario::ReadOf(id, b_->node.Remote(0)), {a_->node.Local(0, 8)});
  }
  a_->Run();
  b_->Arrive(a_->TakeBytes());
  ASSERT_TRUE(b_->qp->terminate_sent().has_value());
  EXPECT_EQ(b_->qp->terminate_sent()->code, TerminateCode::kDdpUntaggedNoBuffer);
}

TEST_F(IwarpQpTest, AFencedElementWaitsForReads) {
  Connect();
  b_->PostReceive(1, 0, 100);
  a_->Post(scenario::ReadOf(1, b_->node.Remote(0)), {a_->node.Local(0, 8)});
  queue::SendWqe fenced = scenario::SendOf(2);
  fenced.flags.fence = true;
  a_->Post(fenced, {a_->node.Local(0, 8)});
  a_->Run();
  EXPECT_EQ(a_->TakeBytes().size(), wire::FpduContentSize(18 + 28));
  b_->Arrive({});
  EXPECT_TRUE(b_->Received().empty());
}

TEST_F(IwarpQpTest, WhatIwarpHasNoMessageForFails) {
  for (const auto opcode : {SendOpcode::kSendWithImmediate, SendOpcode::kAtomicWrite}) {
    Connect();
    const auto operand = opcode == SendOpcode::kAtomicWrite ? queue::SendOperand(b_->node.Remote(0))
                                                            : queue::SendOperand();
    a_->Post(scenario::RequestOf(1, opcode, operand), {a_->node.Local(0, 8)});
    a_->Post(scenario::SendOf(2));
    Settle();
    EXPECT_EQ(StatusesOf(a_->Sent()),
              Statuses({CompletionStatus::kLocalQpOperationError, CompletionStatus::kFlushed}));
    EXPECT_EQ(a_->qp->state(), QpState::kErr);
    EXPECT_EQ(b_->qp->terminate_received()->code, TerminateCode::kRdmapCatastrophic);
  }
}

TEST_F(IwarpQpTest, ASmallSendBufferDelaysAndLosesNothing) {
  IwarpSpec spec;
  spec.send_buffer = 600;
  Connect(spec, spec);
  FillA();
  a_->Post(scenario::WriteOf(1, b_->node.Remote(0)), {a_->node.Local(0, 8000)});
  b_->Post(scenario::ReadOf(2, a_->node.Remote(kPage)), {b_->node.Local(3 * kPage, 8000)});
  a_->Run();
  EXPECT_TRUE(a_->qp->wants_room());
  Settle();
  EXPECT_FALSE(a_->qp->wants_room());
  EXPECT_EQ(b_->node.Read(0, 8000), a_->node.Read(0, 8000));
  EXPECT_EQ(b_->node.Read(3 * kPage, 8000), a_->node.Read(kPage, 8000));
}

// RFC 5044, 7.1.2.
TEST_F(IwarpQpTest, TheResponderOfTheSetUpSendsNothingBeforeItHasReceived) {
  IwarpSpec responder;
  responder.config.stream.waits_for_first = true;
  Connect({}, responder);
  a_->PostReceive(1, 0, 10);
  b_->PostReceive(1, 0, 10);
  b_->Post(scenario::SendOf(2));
  b_->Run();
  EXPECT_TRUE(b_->buffer.empty());
  a_->Post(scenario::SendOf(3));
  Settle();
  EXPECT_EQ(a_->Received().size(), 1);
}

TEST_F(IwarpQpTest, TheResponderSendsWhenThePeerHasHadTimeToBecomeReady) {
  IwarpSpec responder;
  responder.config.stream.waits_for_first = true;
  Connect({}, responder);
  a_->PostReceive(1, 0, 10);
  b_->Post(scenario::SendOf(2));
  b_->Run();
  EXPECT_TRUE(b_->buffer.empty());
  b_->qp->AssumePeerReady();
  Settle();
  EXPECT_EQ(a_->Received().size(), 1);
}

// RFC 6581: so that it need not wait for the first message of the program.
TEST_F(IwarpQpTest, AReadyToReceiveMessageLetsTheResponderSend) {
  for (const auto rtr : {IwarpQp::Rtr::kEmptyFrame, IwarpQp::Rtr::kWrite}) {
    IwarpSpec responder;
    responder.config.stream.waits_for_first = true;
    responder.config.stream.takes_empty_frame = rtr == IwarpQp::Rtr::kEmptyFrame;
    Connect({}, responder);
    a_->PostReceive(1, 0, 10);
    b_->Post(scenario::SendOf(2));
    a_->qp->SendReadyToReceive(rtr);
    Settle();
    EXPECT_EQ(a_->Received().size(), 1);
  }
}

TEST_F(IwarpQpTest, ThatItIsReadyIsSaidAgainUntilThePeerAnswers) {
  Connect();
  a_->qp->SendReadyToReceive(IwarpQp::Rtr::kWrite);
  EXPECT_TRUE(a_->qp->RepeatReady());
  EXPECT_EQ(a_->qp->counters().frames_sent, 2u);
  a_->PostReceive(1, 0, 10);
  b_->Post(scenario::SendOf(2));
  Settle();
  EXPECT_EQ(b_->qp->counters().frames_received, 2u);
  EXPECT_EQ(a_->Received().size(), 1);
  EXPECT_FALSE(a_->qp->RepeatReady());
  EXPECT_EQ(a_->qp->counters().frames_sent, 2u);
}

TEST_F(IwarpQpTest, AnEmptyFrameThatWasNotAgreedOnEndsTheStream) {
  Connect();
  a_->qp->SendReadyToReceive(IwarpQp::Rtr::kEmptyFrame);
  Settle();
  EXPECT_EQ(b_->qp->failure(), TerminateReason(StreamError::kSegmentTooShort));
}

TEST_F(IwarpQpTest, ADrainEndsTheElementsThatWereStarted) {
  Connect();
  a_->Post(scenario::ReadOf(1, b_->node.Remote(0)), {a_->node.Local(0, 8)});
  a_->Run();
  a_->Post(scenario::ReadOf(2, b_->node.Remote(0)), {a_->node.Local(0, 8)});
  a_->qp->Drain();
  a_->Run();
  EXPECT_TRUE(a_->qp->is_draining());
  Settle();
  EXPECT_FALSE(a_->qp->is_draining());
  EXPECT_EQ(IdsOf(a_->Sent()), Ids({1}));
  EXPECT_EQ(a_->events, std::vector{AsyncEventType::kSendQueueDrained});
  // The peer is served.
  b_->Post(scenario::ReadOf(3, a_->node.Remote(0)), {b_->node.Local(0, 8)});
  Settle();
  EXPECT_EQ(IdsOf(b_->Sent()), Ids({3}));
  a_->qp->ResumeSends();
  Settle();
  EXPECT_EQ(IdsOf(a_->Sent()), Ids({2}));
}

TEST_F(IwarpQpTest, WorkIsFlushedInError) {
  Connect();
  a_->PostReceive(1, 0, 10);
  a_->Post(scenario::ReadOf(2, b_->node.Remote(0)), {a_->node.Local(0, 8)});
  a_->Run();
  a_->qp->OnStreamEnd();
  a_->Run();
  EXPECT_EQ(StatusesOf(a_->Sent()), Statuses({CompletionStatus::kFlushed}));
  EXPECT_EQ(StatusesOf(a_->Received()), Statuses({CompletionStatus::kFlushed}));
  EXPECT_EQ(a_->qp->wish(), StreamWish::kClose);
  a_->Post(scenario::SendOf(3));
  a_->Run();
  EXPECT_EQ(StatusesOf(a_->Sent()), Statuses({CompletionStatus::kFlushed}));
  EXPECT_FALSE(a_->qp->terminate_sent().has_value());
}

TEST_F(IwarpQpTest, ADelayHoldsTheElementsBehindIt) {
  Connect();
  queue::SendWqe delay =
      scenario::RequestOf(1, SendOpcode::kDelay, queue::DelayOperand{Milliseconds(5)});
  a_->Post(delay);
  a_->Post(scenario::WriteOf(2, b_->node.Remote(0)), {a_->node.Local(0, 8)});
  a_->Run();
  EXPECT_EQ(IdsOf(a_->Sent()), Ids({1}));
  EXPECT_EQ(a_->qp->next_time(), Time(Milliseconds(5)));
  a_->now = Time(Milliseconds(5));
  transport::Step step = a_->MakeStep();
  a_->qp->OnTime(step);
  a_->Run();
  EXPECT_EQ(IdsOf(a_->Sent()), Ids({2}));
  EXPECT_EQ(a_->qp->next_time(), Time::Never());
}

TEST_F(IwarpQpTest, ACompletionThatIsLostEndsTheStream) {
  IwarpSpec spec;
  spec.completions = 2;
  Connect(spec, {});
  for (uint64_t id = 1; id <= 3; ++id) {
    a_->Post(scenario::WriteOf(id, b_->node.Remote(0)), {a_->node.Local(0, 8)});
  }
  Settle();
  EXPECT_EQ(a_->qp->state(), QpState::kErr);
  EXPECT_EQ(a_->events, (std::vector{AsyncEventType::kCqError, AsyncEventType::kQpFatal}));
}

}  // namespace
}  // namespace verbena::transport
