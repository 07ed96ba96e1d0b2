// Operations that few programs use, each through sockets.

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {
using queue::SendOpcode;

class RareOperationsTest : public testing::Test {
 protected:
  void SetUp() override { Connect(a_, qa_, b_, qb_); }

  static QpInit Registering(TestNode& node) {
    QpInit spec = node.Spec(QpType::kRc);
    spec.registration = RegistrationMode::kAnticipatory;
    return spec;
  }
  void ExpectDone(TestNode& node, CompletionOpcode opcode,
                  CompletionStatus status = CompletionStatus::kSuccess) {
    const auto completion = node.Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->status, status) << NameOf(completion->status);
    if (status == CompletionStatus::kSuccess) {
      EXPECT_EQ(completion->opcode, opcode);
    }
  }

  // Registers two pages of `node` by work request, and returns the key.
  Key FastRegister(TestNode& node, QueuePair& qp) {
    const Key key = node.adapter().ReserveRegion(node.pd(), 2, PageShift(12))->local;
    node.Fill(0, 8'192, 0);  // registration by work request requires pages that are present
    const std::array<uint64_t, 2> pages{node.AddressOf(4'096), node.AddressOf(0)};
    const queue::SendWqe wqe = MakeSend(SendOpcode::kRegister, 9,
                                        queue::RegistrationOperand{.key = key,
                                                                   .rights = Access::kAll,
                                                                   .page_shift = 12,
                                                                   .start = 0x10000,
                                                                   .length = 8'192});
    EXPECT_TRUE(node.adapter().PostSend(qp, {.wqe = wqe, .sges = {}, .pages = pages}).has_value());
    ExpectDone(node, CompletionOpcode::kRegister);
    return key;
  }

  TestNode a_{"127.0.0.1"};
  TestNode b_{"127.0.0.1"};
  QueuePair& qa_ = **a_.adapter().CreateQp(Registering(a_));
  QueuePair& qb_ = **b_.adapter().CreateQp(Registering(b_));
};

TEST_F(RareOperationsTest, AFastRegistrationShowsItsPagesInItsOrder) {
  const Key key = FastRegister(b_, qb_);
  a_.Fill(0, 8'192, 5);
  Post(a_, qa_, MakeSend(SendOpcode::kWrite, 1, RemoteAddress{0x10000, key}), a_.Bytes(0, 8'192));
  ExpectDone(a_, CompletionOpcode::kWrite);
  // The first page of the region is the second of the memory.
  EXPECT_EQ(std::memcmp(b_.memory().data() + 4'096, a_.memory().data(), 4'096), 0);
  EXPECT_EQ(std::memcmp(b_.memory().data(), a_.memory().data() + 4'096, 4'096), 0);
}

TEST_F(RareOperationsTest, ASendWithInvalidateInvalidatesAKeyOfThePeer) {
  const Key key = FastRegister(b_, qb_);
  PostReceive(b_, qb_, 3, b_.Bytes(65'536, 100));
  queue::SendWqe wqe = MakeSend(SendOpcode::kSendWithInvalidate, 1);
  wqe.invalidate = key;
  Post(a_, qa_, wqe, a_.Bytes(0, 100));
  ExpectDone(a_, CompletionOpcode::kSend);
  const auto received = b_.Wait();
  ASSERT_TRUE(received.has_value());
  EXPECT_TRUE(received->with_invalidate);
  EXPECT_EQ(received->invalidated, key);
  Post(a_, qa_, MakeSend(SendOpcode::kRead, 2, RemoteAddress{0x10000, key}), a_.Bytes(0, 8));
  ExpectDone(a_, CompletionOpcode::kRead, CompletionStatus::kRemoteAccessError);
}

TEST_F(RareOperationsTest, AnAtomicWriteIsEightBytesAtOnce) {
  a_.Fill(0, 8, 77);
  Post(a_, qa_, MakeSend(SendOpcode::kAtomicWrite, 1, b_.Remote(64)), a_.Bytes(0, 8));
  ExpectDone(a_, CompletionOpcode::kAtomicWrite);
  EXPECT_TRUE(b_.Holds(64, 8, 77));
}

TEST_F(RareOperationsTest, AFlushCompletesBehindTheWritesBeforeIt) {
  a_.Fill(0, 20'000, 8);
  queue::SendWqe write = MakeSend(SendOpcode::kWrite, 1, b_.Remote(0));
  write.flags.signaled = false;
  Post(a_, qa_, write, a_.Bytes(0, 20'000));
  const queue::SendWqe flush = MakeSend(
      SendOpcode::kFlush, 2,
      queue::FlushOperand{.remote = b_.Remote(0), .length = 20'000, .global_visibility = true});
  ASSERT_TRUE(a_.adapter().PostSend(qa_, {.wqe = flush, .sges = {}}).has_value());
  ExpectDone(a_, CompletionOpcode::kFlush);
  EXPECT_TRUE(b_.Holds(0, 20'000, 8));
}

// Posted to the queue only, so that the engine has not seen it when the queue pair is destroyed.
TEST_F(RareOperationsTest, ARequestPostedBeforeDestructionIsSent) {
  QueuePair& from = a_.MakeQp(QpType::kUc);
  QueuePair& to = b_.MakeQp(QpType::kUc);
  Connect(a_, from, b_, to);
  a_.Fill(0, 3'000, 4);
  b_.Fill(0, 3'000, 0);
  // Until one arrives, so that the pages of both sides are in the tables.
  for (uint8_t i = 0; i < 100 && !b_.Holds(0, 3'000, 4); ++i) {
    Post(a_, from, MakeSend(SendOpcode::kWrite, 1, b_.Remote(0)), a_.Bytes(0, 3'000));
    EXPECT_TRUE(a_.Wait().has_value());
    usleep(2'000);
  }
  b_.Fill(0, 3'000, 0);
  const Sge bytes = a_.Bytes(0, 3'000);
  ASSERT_TRUE(from.send_queue()
                  .Post({.wqe = MakeSend(SendOpcode::kWrite, 2, b_.Remote(0)), .sges = {&bytes, 1}})
                  .has_value());
  Succeed(a_.adapter().Destroy(&from));
  for (const Time end = Now() + Seconds(10); !b_.Holds(0, 3'000, 4) && Now() < end;) {
    usleep(1'000);
  }
  EXPECT_TRUE(b_.Holds(0, 3'000, 4));
}

// A request that the engine has not seen when the program resumes the send queue was posted before.
TEST_F(RareOperationsTest, RequestsPostedBeforeAResumeAreFlushed) {
  for (const QpType type : {QpType::kRc, QpType::kUc}) {
    QpInit spec = a_.Spec(type);
    spec.registration = RegistrationMode::kReactive;
    QueuePair& from = **a_.adapter().CreateQp(spec);
    QueuePair& to = b_.MakeQp(type);
    Connect(a_, from, b_, to);
    const queue::SendWqe wqe = MakeSend(
        SendOpcode::kRegister, 1, queue::RegistrationOperand{.key = Key(0x100), .page_shift = 12});
    ASSERT_TRUE(a_.adapter().PostSend(from, {.wqe = wqe, .sges = {}, .pages = {}}).has_value());
    ExpectDone(a_, CompletionOpcode::kRegister, CompletionStatus::kLocalQpOperationError);
    EXPECT_EQ(a_.adapter().Query(from)->state, QpState::kSqd);
    const Sge bytes = a_.Bytes(0, 100);
    const queue::SendWqe write = MakeSend(SendOpcode::kWrite, 2, b_.Remote(0));
    ASSERT_TRUE(from.send_queue().Post({.wqe = write, .sges = {&bytes, 1}}).has_value());
    QpChange change;
    change.attributes.state = QpState::kRts;
    change.mask = transport::QpAttribute::kState;
    Succeed(a_.adapter().Modify(from, change));
    ExpectDone(a_, CompletionOpcode::kWrite, CompletionStatus::kFlushed);
    Post(a_, from, write, bytes);
    ExpectDone(a_, CompletionOpcode::kWrite);
  }
}

}  // namespace
}  // namespace verbena::adapter
