// What a queue pair of plain bytes refuses, pages that are absent, and its states.

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/stream_qp_world.h"

namespace verbena::transport {
namespace {

constexpr uint64_t kPage = RcNode::kPage;
constexpr CompletionStatus kOk = CompletionStatus::kSuccess;
constexpr CompletionStatus kFlushed = CompletionStatus::kFlushed;
constexpr CompletionStatus kProtection = CompletionStatus::kLocalProtectionError;
constexpr CompletionStatus kOperation = CompletionStatus::kLocalQpOperationError;

class StreamQpErrorsTest : public StreamQpWorld {};

TEST_F(StreamQpErrorsTest, RequestsOfRdmaAreRefused) {
  const queue::SendOpcode opcodes[] = {queue::SendOpcode::kSendWithImmediate,
                                       queue::SendOpcode::kSendWithInvalidate,
                                       queue::SendOpcode::kWrite, queue::SendOpcode::kRead};
  for (const auto opcode : opcodes) {
    const bool is_remote = queue::PropertiesOf(opcode).touches_remote;
    const queue::SendOperand operand =
        is_remote ? queue::SendOperand(node_.Remote(0)) : queue::SendOperand();
    Post({.id = WrId(1), .opcode = opcode, .flags = {}, .operand = operand}, {node_.Local(0, 8)});
    EXPECT_TRUE(RunAndTake().empty());
    EXPECT_EQ(Sent(), Statuses{kOperation});
    EXPECT_EQ(qp_.state(), QpState::kErr);
    StartOver();
  }
}

TEST_F(StreamQpErrorsTest, ARefusedSendFailsBehindThoseBeforeIt) {
  PostSend(1, 0, 30);
  PostSend(2, node_.arena.size() - 10, 30);  // beyond its region
  PostSend(3, 0, 30);
  Run();
  EXPECT_EQ(Sent(), Statuses());
  EXPECT_EQ(qp_.state(), QpState::kRts);
  EXPECT_EQ(RunAndTake().size(), 30u);
  EXPECT_EQ(Sent(), (Statuses{kOk, kProtection, kFlushed}));
  EXPECT_EQ(qp_.wish(), StreamWish::kClose);
  EXPECT_TRUE(qp_.must_reset());
  EXPECT_EQ(node_.refusals.local['e' - kFirstCheck], 1u);
}

// ---- The checks of the memory tables, on both sides.

TEST_F(StreamQpErrorsTest, EveryCheckOfTheTablesRefusesASend) {
  const auto other = *node_.core.domains.Allocate(*node_.core.consumers.Open({}));
  const memory::RegionSpec spec{
      .pd = other, .start = KeyAddress(RcNode::kBase), .length = kPage, .rights = Access::kAll};
  const Key foreign = node_.Register(spec, 0)->local;
  const Key stale = NextKey(node_.keys.local);
  const struct {
    Sge sge;
    char check;
  } rows[] = {{{RcNode::kBase, 8, Key(0xFFFFFF01)}, 'a'},
              {{RcNode::kBase, 8, foreign}, 'c'},
              {{RcNode::kBase, 8, stale}, 'd'},
              {{RcNode::kBase - 1, 8, node_.keys.local}, 'e'}};
  for (const auto& row : rows) {
    Post({.id = WrId(1), .flags = {}}, {row.sge});
    Run();
    const auto completions = Poll(send_cq_);
    ASSERT_EQ(completions.size(), 1u);
    EXPECT_EQ(completions[0].status, kProtection);
    EXPECT_EQ(completions[0].vendor_error, static_cast<uint32_t>(row.check));
    EXPECT_TRUE(buffer_.empty());
    StartOver();
  }
}

TEST_F(StreamQpErrorsTest, AReceiveNeedsTheRightToWrite) {
  const memory::RegionSpec spec{
      .pd = node_.pd, .start = KeyAddress(RcNode::kBase), .length = kPage, .rights = Access::kNone};
  const Sge sge{RcNode::kBase, 64, node_.Register(spec, 0)->local};
  ASSERT_TRUE(receives_.Post({.wqe = {.id = WrId(1)}, .sges = {&sge, 1}}).has_value());
  PostReceive(2, 0, 10);
  const Bytes before = node_.Read(0, 64);
  Arrive(Text(20, 1));
  Run();
  const auto completions = Poll(receive_cq_);
  ASSERT_EQ(completions.size(), 2u);
  EXPECT_EQ(completions[0].status, kProtection);
  EXPECT_EQ(completions[0].vendor_error, static_cast<uint32_t>('f'));
  EXPECT_EQ(completions[1].status, kFlushed);
  EXPECT_EQ(node_.Read(0, 64), before);
  EXPECT_TRUE(qp_.must_reset());
}

// ---- Pages that are absent.

TEST_F(StreamQpErrorsTest, ASendWaitsForItsPages) {
  std::ranges::copy(Text(2 * kPage, 3), node_.At(0));
  node_.Evict(1);
  PostSend(1, kPage - 100, 300);
  PostSend(2, 0, 10);
  const Bytes first = RunAndTake();
  EXPECT_LT(first.size(), 300u);
  ASSERT_EQ(page_requests_.size(), 1u);
  EXPECT_FALSE(page_requests_[0].fault.for_write);
  EXPECT_EQ(Sent(), Statuses());
  AnswerPages();
  Bytes all = first;
  const Bytes rest = RunAndTake();
  all.insert(all.end(), rest.begin(), rest.end());
  ASSERT_EQ(all.size(), 310u);
  all.resize(300);
  EXPECT_EQ(all, node_.Read(kPage - 100, 300));
  EXPECT_EQ(Sent(), (Statuses{kOk, kOk}));
  EXPECT_EQ(qp_.page_waits(), 1u);
}

TEST_F(StreamQpErrorsTest, BytesForAbsentPagesStayInTheStream) {
  node_.Evict(1, 2);
  PostReceive(1, kPage - 100, 300);
  Arrive(Text(300, 8));
  EXPECT_EQ(inbox_.size(), 300u);
  EXPECT_TRUE(qp_.is_waiting());
  ASSERT_EQ(page_requests_.size(), 1u);
  EXPECT_TRUE(page_requests_[0].fault.for_write);
  Arrive(Text(10, 1));
  EXPECT_EQ(page_requests_.size(), 1u);
  AnswerPages();
  EXPECT_TRUE(qp_.may_resume());
  Deliver();
  EXPECT_EQ(Filled(), std::vector<uint32_t>{300});
  EXPECT_EQ(node_.Read(kPage - 100, 300), Text(300, 8));
  EXPECT_EQ(inbox_.size(), 10u);
  EXPECT_TRUE(qp_.TakeReceiveFault());
}

TEST_F(StreamQpErrorsTest, PagesThatCannotBePagedInEndTheStream) {
  node_.Evict(1);
  PostReceive(1, kPage, 300);
  Arrive(Text(300, 8));
  AnswerPages(false);
  Run();
  EXPECT_EQ(Received(), Statuses{kProtection});
  EXPECT_EQ(qp_.wish(), StreamWish::kClose);
}

TEST_F(StreamQpErrorsTest, ASendWhosePagesCannotBePagedInFails) {
  node_.Evict(1);
  PostSend(1, kPage, 300);
  Run();
  AnswerPages(false);
  Run();
  EXPECT_EQ(Sent(), Statuses{kProtection});
  EXPECT_TRUE(qp_.must_reset());
}

// ---- States.

TEST_F(StreamQpErrorsTest, ADrainFinishesTheSendThatWasBegun) {
  PostSend(1, 0, 3'000);
  PostSend(2, 0, 10);
  Run();
  qp_.Drain();
  EXPECT_TRUE(qp_.is_draining());
  EXPECT_EQ(RunAndTake().size(), 3'000u);
  EXPECT_EQ(Sent(), Statuses{kOk});
  EXPECT_EQ(events_, std::vector<AsyncEventType>{AsyncEventType::kSendQueueDrained});
  EXPECT_FALSE(qp_.is_draining());
  qp_.ResumeSends();
  EXPECT_EQ(RunAndTake().size(), 10u);
}

TEST_F(StreamQpErrorsTest, ALostCompletionEndsTheStream) {
  for (int i = 0; i < 70; ++i) {
    PostSend(1, 0, 1);
    RunAndTake();
  }
  EXPECT_EQ(qp_.state(), QpState::kErr);
  EXPECT_NE(std::ranges::find(events_, AsyncEventType::kQpFatal), events_.end());
  EXPECT_NE(std::ranges::find(events_, AsyncEventType::kCqError), events_.end());
}

// A registration of no region: row B3.
queue::SendWqe BadRegistration() {
  return {.id = WrId(9),
          .opcode = queue::SendOpcode::kRegister,
          .flags = {},
          .operand = queue::RegistrationOperand{.key = Key(0xFFFFFF01), .page_shift = 12}};
}

TEST_F(StreamQpErrorsTest, AFailedRegistrationInAnticipatoryModeEndsTheStream) {
  Post(BadRegistration());
  PostSend(2, 0, 10);
  RunAndTake();
  const Statuses statuses = Sent();
  ASSERT_EQ(statuses.size(), 2u);
  EXPECT_NE(statuses[0], kOk);
  EXPECT_EQ(statuses[1], kFlushed);
  EXPECT_EQ(qp_.state(), QpState::kErr);
}

class ReactiveStreamQpTest : public StreamQpWorld {
 protected:
  ReactiveStreamQpTest() : StreamQpWorld(RegistrationMode::kReactive) {}
};

TEST_F(ReactiveStreamQpTest, AFailedRegistrationDrainsTheSendQueue) {
  Post(BadRegistration());
  PostSend(2, 0, 10);
  RunAndTake();
  EXPECT_EQ(Sent().size(), 2u);
  EXPECT_EQ(qp_.state(), QpState::kSqd);
  PostReceive(1, 0, 100);
  Arrive(Text(5, 1));
  EXPECT_EQ(Filled(), std::vector<uint32_t>{5});
  qp_.ResumeSends();
  PostSend(3, 0, 10);
  EXPECT_EQ(RunAndTake().size(), 10u);
  EXPECT_EQ(Sent(), Statuses{kOk});
}

}  // namespace
}  // namespace verbena::transport
