#include "transport/iwarp/stream_qp.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/stream_qp_world.h"

namespace verbena::transport {
namespace {

constexpr uint64_t kPage = RcNode::kPage;
constexpr CompletionStatus kOk = CompletionStatus::kSuccess;
constexpr CompletionStatus kFlushed = CompletionStatus::kFlushed;
constexpr CompletionStatus kOperation = CompletionStatus::kLocalQpOperationError;

class StreamQpTest : public StreamQpWorld {};

// ---- Sends.

TEST_F(StreamQpTest, SendsBecomeTheBytesOfAStream) {
  std::ranges::copy(Text(300, 5), node_.At(0));
  Post({.id = WrId(1), .flags = {}},
       {node_.Local(0, 1), node_.Local(1, 0), node_.Local(1, 99), node_.Local(100, 60)});
  PostSend(2, 160, 140);
  EXPECT_EQ(RunAndTake(), Text(300, 5));
  EXPECT_EQ(Sent(), (Statuses{kOk, kOk}));
}

TEST_F(StreamQpTest, InlineBytesAreThoseOfThePost) {
  const Bytes bytes = Text(50, 3);
  const Sge sge{reinterpret_cast<uintptr_t>(bytes.data()), 50, {}};
  Post({.id = WrId(1), .flags = {.inlined = true}}, {sge});
  EXPECT_EQ(RunAndTake(), bytes);
}

TEST_F(StreamQpTest, ASendIsCompleteWhenTcpHasAllOfIt) {
  PostSend(1, 0, 100);
  PostSend(2, 0, 50);
  Run();
  EXPECT_EQ(Sent(), Statuses());
  EXPECT_TRUE(qp_.awaits_taken());
  Take(99);
  Run();
  EXPECT_EQ(Sent(), Statuses());
  Take(50);
  Run();
  EXPECT_EQ(Sent(), Statuses{kOk});
  Take();
  Run();
  EXPECT_EQ(Sent(), Statuses{kOk});
  EXPECT_FALSE(qp_.awaits_taken());
}

TEST_F(StreamQpTest, ASendMayBeLongerThanTheBuffer) {
  std::ranges::copy(Text(20'000, 7), node_.At(10));
  PostSend(1, 10, 20'000);
  Run();
  EXPECT_TRUE(qp_.wants_room());
  EXPECT_EQ(RunAndTake(), Text(20'000, 7));
  EXPECT_FALSE(qp_.wants_room());
  EXPECT_EQ(Sent(), Statuses{kOk});
}

TEST_F(StreamQpTest, LocalWorkIsDone) {
  Post({.id = WrId(1),
        .opcode = queue::SendOpcode::kDelay,
        .flags = {},
        .operand = queue::DelayOperand{Milliseconds(3)}});
  PostSend(2, 0, 10);
  Run();
  EXPECT_EQ(Sent(), Statuses{kOk});
  EXPECT_TRUE(buffer_.empty());
  EXPECT_EQ(qp_.next_time(), now_ + Milliseconds(3));
  now_ = qp_.next_time();
  Step step = MakeStep();
  qp_.OnTime(step);
  EXPECT_EQ(RunAndTake().size(), 10u);
}

// ---- Receives.

TEST_F(StreamQpTest, AReceiveCompletesWithWhatHasArrived) {
  PostReceive(1, 0, 100);
  PostReceive(2, 100, 100);
  Arrive(Text(60, 1));
  EXPECT_EQ(Filled(), std::vector<uint32_t>{60});
  EXPECT_EQ(node_.Read(0, 60), Text(60, 1));
  Arrive(Text(100, 2));
  EXPECT_EQ(Filled(), std::vector<uint32_t>{100});
  EXPECT_EQ(node_.Read(100, 100), Text(100, 2));
}

TEST_F(StreamQpTest, ReceivesAreFilledInOrder) {
  PostReceive(1, 0, 30);
  PostReceive(2, 1000, 1);
  PostReceive(3, 2000, 200);
  Arrive(Text(100, 9));
  EXPECT_EQ(Filled(), (std::vector<uint32_t>{30, 1, 69}));
  Bytes all = node_.Read(0, 30);
  for (const Bytes& part : {node_.Read(1000, 1), node_.Read(2000, 69)}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  EXPECT_EQ(all, Text(100, 9));
}

TEST_F(StreamQpTest, AReceiveThatFillsWaitsForTheRest) {
  PostReceive(1, 0, 100, true);
  for (int i = 0; i < 9; ++i) Arrive(Text(11, 1));
  EXPECT_EQ(Filled(), std::vector<uint32_t>());
  EXPECT_TRUE(inbox_.empty());
  Arrive(Text(11, 1));
  EXPECT_EQ(Filled(), std::vector<uint32_t>{100});
  EXPECT_EQ(inbox_.size(), 10u);
}

TEST_F(StreamQpTest, WithoutAReceiveNoByteIsTaken) {
  Arrive(Text(100, 1));
  EXPECT_EQ(inbox_.size(), 100u);
  EXPECT_TRUE(qp_.is_waiting());
  EXPECT_FALSE(qp_.may_resume());
  PostReceive(1, 0, 60);
  EXPECT_TRUE(qp_.may_resume());
  Deliver();
  EXPECT_EQ(Filled(), std::vector<uint32_t>{60});
  EXPECT_EQ(inbox_.size(), 40u);
  EXPECT_TRUE(qp_.is_waiting());
}

// It says that bytes have arrived, and binds no memory until then.
TEST_F(StreamQpTest, AReceiveWithoutBuffersTakesNoByte) {
  ASSERT_TRUE(receives_.Post({.wqe = {.id = WrId(1)}, .sges = {}}).has_value());
  PostReceive(2, 0, 100);
  Run();
  EXPECT_EQ(Filled(), std::vector<uint32_t>());
  Arrive(Text(7, 1));
  EXPECT_EQ(Filled(), (std::vector<uint32_t>{0, 7}));
}

TEST_F(StreamQpTest, BytesThatComeAgainAreTakenOnce) {
  PostReceive(1, 0, 100, true);
  Bytes bytes = Text(60, 1);
  Step step = MakeStep();
  EXPECT_EQ(qp_.OnBytes(wire::StreamOffset(0), bytes, step), 60u);
  EXPECT_EQ(qp_.OnBytes(wire::StreamOffset(0), bytes, step), 60u);
  EXPECT_EQ(qp_.OnBytes(wire::StreamOffset(70), bytes, step), 0u) << "ahead of a gap";
  bytes = Text(70, 1);
  EXPECT_EQ(qp_.OnBytes(wire::StreamOffset(30), std::span(bytes).subspan(30), step), 40u);
  EXPECT_EQ(node_.Read(0, 70), Text(70, 1));
}

// ---- The ends of the two directions.

TEST_F(StreamQpTest, TheEndOfThePeerCompletesReceivesWithNoBytes) {
  PostReceive(1, 0, 100, true);
  PostReceive(2, 0, 100);
  Arrive(Text(60, 1));
  qp_.OnPeerEnd();
  Run();
  EXPECT_EQ(Filled(), (std::vector<uint32_t>{60, 0}));
  PostReceive(3, 0, 100);
  Run();
  EXPECT_EQ(Filled(), std::vector<uint32_t>{0});
  // The other direction goes on.
  EXPECT_EQ(qp_.state(), QpState::kRts);
  PostSend(1, 0, 10);
  EXPECT_EQ(RunAndTake().size(), 10u);
  EXPECT_EQ(Sent(), Statuses{kOk});
}

TEST_F(StreamQpTest, ASendWithoutBytesEndsThisDirection) {
  PostSend(1, 0, 10);
  PostEnd(2);
  Run();
  EXPECT_TRUE(qp_.wants_end());
  Take();
  Run();
  EXPECT_EQ(Sent(), Statuses{kOk}) << "TCP does not have the end yet";
  qp_.OnEndSent();
  Run();
  EXPECT_EQ(Sent(), Statuses{kOk});
  EXPECT_FALSE(qp_.wants_end());
  // The other direction goes on.
  PostReceive(1, 0, 100);
  Arrive(Text(5, 1));
  EXPECT_EQ(Filled(), std::vector<uint32_t>{5});
  // No byte may follow.
  PostSend(3, 0, 10);
  EXPECT_TRUE(RunAndTake().empty());
  EXPECT_EQ(Sent(), Statuses{kOperation});
  EXPECT_TRUE(qp_.must_reset());
}

TEST_F(StreamQpTest, WhenBothHaveEndedTheStreamIsClosed) {
  PostEnd(1);
  RunAndTake();
  EXPECT_EQ(Sent(), Statuses{kOk});
  qp_.OnPeerEnd();
  Run();
  EXPECT_EQ(qp_.wish(), StreamWish::kOpen) << "the program does not know of the end";
  PostReceive(1, 0, 100);
  PostReceive(2, 0, 100);
  Run();
  EXPECT_EQ(Filled(), (std::vector<uint32_t>{0, 0}));
  EXPECT_EQ(qp_.wish(), StreamWish::kClose);
  EXPECT_FALSE(qp_.must_reset());
}

TEST_F(StreamQpTest, ABrokenStreamFlushesBothQueues) {
  PostSend(1, 0, 10);
  PostReceive(1, 0, 100);
  Run();
  qp_.OnStreamEnd();
  Run();
  EXPECT_EQ(Sent(), Statuses{kFlushed});
  EXPECT_EQ(Received(), Statuses{kFlushed});
  EXPECT_EQ(qp_.state(), QpState::kErr);
  EXPECT_FALSE(qp_.must_reset());
}

TEST_F(StreamQpTest, AStreamThatIsClosedInTheMiddleOfASendIsReset) {
  PostSend(1, 0, 20'000);
  Run();
  EXPECT_TRUE(qp_.must_reset());
  qp_.BecomeFailed();
  Run();
  EXPECT_EQ(Sent(), Statuses{kFlushed});
  EXPECT_TRUE(qp_.must_reset());
}

// What is sent, in pieces of any size, is what arrives, in receives of any size.
TEST_F(StreamQpTest, AnyPiecesBecomeTheSameBytes) {
  std::mt19937 random(1);
  const Bytes text = Text(kPage, 77);
  std::ranges::copy(text, node_.At(0));
  const auto below = [&](size_t end) { return random() % end; };
  Bytes sent, received, wire;
  std::vector<std::pair<uint64_t, size_t>> posted;
  for (int i = 0; i < 3'000; ++i) {
    if (below(2) == 0 && sends_.end().value() - sends_.begin().value() < 16) {
      const size_t at = below(3'000), size = 1 + below(1'000);
      PostSend(1, at, size);
      sent.insert(sent.end(), text.begin() + static_cast<ptrdiff_t>(at),
                  text.begin() + static_cast<ptrdiff_t>(at + size));
    }
    if (below(2) == 0 && posted.size() < 16) {
      const uint64_t place = kPage + receives_.end().value() % 16 * 1'024;
      posted.emplace_back(place, 1 + below(1'024));
      PostReceive(1, place, posted.back().second, below(2) == 0);
    }
    Run();
    const Bytes taken = Take(below(600));
    wire.insert(wire.end(), taken.begin(), taken.end());
    const size_t piece = std::min(wire.size(), below(500));
    inbox_.insert(inbox_.end(), wire.begin(), wire.begin() + static_cast<ptrdiff_t>(piece));
    wire.erase(wire.begin(), wire.begin() + static_cast<ptrdiff_t>(piece));
    Deliver();
    Sent();
    for (const uint32_t size : Filled()) {
      const Bytes bytes = node_.Read(posted.front().first, size);
      received.insert(received.end(), bytes.begin(), bytes.end());
      posted.erase(posted.begin());
    }
  }
  EXPECT_GT(received.size(), 100'000u);
  ASSERT_LE(received.size(), sent.size());
  sent.resize(received.size());
  EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace verbena::transport
