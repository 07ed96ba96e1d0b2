#include "transport/uc/uc_qp.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/uc_fixture.h"
#include "wire/roce/immdt.h"
#include "wire/roce/reth.h"

namespace verbena::transport {
namespace {
using queue::SendOpcode;
using wire::Position;

class UcQpTest : public UcFixture {};

TEST_F(UcQpTest, CutsAMessageAtThePathMtu) {
  Write(SendOpcode::kWriteWithImmediate, 2 * kMtu + 1);
  ASSERT_EQ(packets_.size(), 3u);
  const std::vector positions = {Position::kFirst, Position::kMiddle, Position::kLast};
  for (uint32_t i = 0; i < 3; ++i) {
    const wire::Packet packet = PacketAt(i);
    EXPECT_EQ(packet.info().service, wire::Service::kUc);
    EXPECT_EQ(packet.info().position, positions[i]);
    EXPECT_EQ(packet.bth().psn, Psn(kStart) + i);
    EXPECT_EQ(packet.bth().dest_qp, QpNumber(0x123456));
    EXPECT_FALSE(packet.bth().ack_request);
    EXPECT_EQ(packet.payload().size(), i == 2 ? 1 : kMtu);
    EXPECT_EQ(packet.Get<wire::Reth>().has_value(), i == 0);
    EXPECT_EQ(packet.Get<wire::ImmDt>().has_value(), i == 2);
  }
  EXPECT_EQ(PacketAt(0).Get<wire::Reth>()->dma_length, 2 * kMtu + 1);
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kSuccess}));
}

TEST_F(UcQpTest, AMessageLongerThanTheOutboxContinuesInLaterSteps) {
  Send(SendOpcode::kSend, 6 * kMtu);
  EXPECT_EQ(packets_.size(), 6u);
  EXPECT_EQ(PacketAt(5).info().position, Position::kLast);
  EXPECT_EQ(SendStatuses().size(), 1u);
  PostReceive(7, 4096);
  DeliverAll();
  EXPECT_EQ(Received(6 * kMtu), BytesAt(0, 6 * kMtu));
}

TEST_F(UcQpTest, ASendArrives) {
  for (const uint32_t length : {0u, 1u, kMtu, kMtu + 1, 3 * kMtu}) {
    PostReceive(length, length);
    packets_.clear();
    Send(SendOpcode::kSendWithImmediate, length);
    DeliverAll();
    const Completion completion = OneReceive();
    EXPECT_EQ(completion.id, WrId(length));
    EXPECT_EQ(completion.status, CompletionStatus::kSuccess);
    EXPECT_EQ(completion.byte_count, length);
    EXPECT_EQ(completion.immediate, Immediate(42));
    EXPECT_EQ(completion.source_qp, QpNumber(0x123456));
    EXPECT_EQ(Received(length), BytesAt(0, length));
  }
}

TEST_F(UcQpTest, AWriteArrivesAndTakesAReceiveRequestOnlyForItsImmediate) {
  PostReceive(7, 0);
  Write(SendOpcode::kWrite, 2 * kMtu);
  DeliverAll();
  EXPECT_EQ(Written(2 * kMtu), BytesAt(0, 2 * kMtu));
  EXPECT_TRUE(Poll(receive_cq_).empty());
  packets_.clear();
  Write(SendOpcode::kWriteWithImmediate, kMtu + 9);
  DeliverAll();
  const Completion completion = OneReceive();
  EXPECT_EQ(completion.opcode, CompletionOpcode::kReceiveWithImmediate);
  EXPECT_EQ(completion.byte_count, kMtu + 9);
}

TEST_F(UcQpTest, AnUnsupportedOperationStopsTheSendQueue) {
  queue::SendWqe wqe{.opcode = SendOpcode::kRead, .operand = RemoteAddress{}};
  PostSend(wqe, {SgeOf(0, 8)});
  RunAll(*qp_);
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kLocalQpOperationError}));
  EXPECT_EQ(qp_->state(), QpState::kSqe);
  EXPECT_TRUE(packets_.empty());
}

// Whichever packet is lost, the whole message is dropped, and the next one uses the same buffer.
TEST_F(UcQpTest, AGapDropsTheMessageAndNotTheNext) {
  for (size_t lost = 0; lost < 3; ++lost) {
    const uint64_t before = counters().out_of_sequence;
    packets_.clear();
    PostReceive(lost, 4096);
    Send(SendOpcode::kSend, 3 * kMtu);
    Send(SendOpcode::kSend, kMtu + 5);
    for (size_t i = 0; i < packets_.size(); ++i) {
      if (i != lost) Deliver(i);
    }
    const Completion completion = OneReceive();
    EXPECT_EQ(completion.id, WrId(lost));
    EXPECT_EQ(completion.byte_count, kMtu + 5);
    EXPECT_EQ(counters().out_of_sequence, before + 1) << lost;
  }
}

TEST_F(UcQpTest, ALossBetweenMessagesDropsNoOther) {
  PostReceive(1, 4096);
  Send(SendOpcode::kSend, 8);
  Send(SendOpcode::kSend, 9);
  Deliver(1);
  EXPECT_EQ(OneReceive().byte_count, 9u);
  EXPECT_EQ(counters().out_of_sequence, 0u);
}

TEST_F(UcQpTest, ARepeatedPacketIsAGap) {
  PostReceive(1, 4096);
  Send(SendOpcode::kSend, 2 * kMtu);
  Deliver(0);
  Deliver(0);  // starts again
  Deliver(1);
  EXPECT_EQ(OneReceive().byte_count, 2 * kMtu);
  EXPECT_EQ(counters().out_of_sequence, 1u);
}

TEST_F(UcQpTest, WithoutAReceiveRequestTheMessageIsDropped) {
  Send(SendOpcode::kSend, 2 * kMtu);
  Send(SendOpcode::kSend, 3);
  Deliver(0);
  PostReceive(1, 4096);
  Deliver(1);  // the rest of the message that was dropped
  Deliver(2);
  EXPECT_EQ(OneReceive().byte_count, 3u);
  EXPECT_EQ(counters().no_receive, 1u);
  EXPECT_EQ(counters().out_of_sequence, 0u);
}

TEST_F(UcQpTest, AWrongKeyDropsTheMessageOnly) {
  const Bytes before = Written(2 * kMtu);
  Write(SendOpcode::kWrite, 2 * kMtu, Key(region_.remote.value() ^ 1));
  DeliverAll();
  EXPECT_EQ(Written(2 * kMtu), before);
  EXPECT_EQ(counters().refused, 1u);
  EXPECT_EQ(qp_->state(), QpState::kRts);
  EXPECT_TRUE(events_.empty());
  packets_.clear();
  Write(SendOpcode::kWrite, 8);
  DeliverAll();
  EXPECT_EQ(Written(8), BytesAt(0, 8));
}

TEST_F(UcQpTest, AWriteNeedsTheRightOfTheQueuePair) {
  Begin(Access::kRemoteRead);
  const Bytes before = Written(8);
  Write(SendOpcode::kWrite, 8);
  DeliverAll();
  EXPECT_EQ(Written(8), before);
  EXPECT_EQ(counters().refused, 1u);
}

// IBA 9.9.3, class D, as for datagrams: dropped silently.
TEST_F(UcQpTest, AMessageThatIsLongerThanTheReceiveIsDroppedAndTheReceiveStays) {
  PostReceive(1, kMtu + 1);
  Send(SendOpcode::kSend, kMtu + 2);
  Send(SendOpcode::kSend, kMtu + 1);
  DeliverAll();
  EXPECT_EQ(counters().refused, 1u);
  const Completion received = OneReceive();
  EXPECT_EQ(received.status, CompletionStatus::kSuccess);
  EXPECT_EQ(received.byte_count, kMtu + 1);
  EXPECT_EQ(qp_->state(), QpState::kRts);
}

TEST_F(UcQpTest, ASendWaitsForItsPagesInTheMiddle) {
  Evict(1);
  PostSend({.flags = {.signaled = true}}, {SgeOf(memory::kPage - kMtu, 2 * kMtu)});
  RunAll(*qp_);
  EXPECT_EQ(packets_.size(), 1u);
  ASSERT_EQ(requests_.size(), 1u);
  Restore(1);
  PagesReady(requests_[0].ticket, true);
  RunAll(*qp_);
  ASSERT_EQ(packets_.size(), 2u);
  EXPECT_EQ(PacketAt(1).info().position, Position::kLast);
  EXPECT_EQ(PacketAt(1).bth().psn, Psn(kStart) + 1);
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kSuccess}));
}

TEST_F(UcQpTest, InlineDataIsCopiedAtThePost) {
  const Bytes posted = BytesAt(0, 64);
  PostSend({.flags = {.signaled = true, .inlined = true}}, {SgeOf(0, 64)});
  std::fill_n(arena_.data(), 64, std::byte{0});
  RunAll(*qp_);
  const auto payload = PacketAt(0).payload();
  EXPECT_EQ(Bytes(payload.begin(), payload.end()), posted);
}

TEST_F(UcQpTest, ALostCompletionEndsTheQueuePair) {
  for (size_t i = 0; i <= receive_cq_.capacity(); ++i) {
    EXPECT_EQ(qp_->state(), QpState::kRts);
    packets_.clear();
    PostReceive(i, 8);
    Send(SendOpcode::kSend, 8);
    DeliverAll();
    Poll(send_cq_);
  }
  EXPECT_EQ(qp_->state(), QpState::kErr);
  EXPECT_EQ(qp_->responder_failure(), NakReason(ResponderError::kCompletionQueueError));
  EXPECT_EQ(events_, (std::vector{AsyncEventType::kCqError, AsyncEventType::kQpFatal}));
}

TEST_F(UcQpTest, ALostCompletionOfASendEndsTheQueuePair) {
  for (size_t i = 0; i <= send_cq_.capacity(); ++i) {
    EXPECT_EQ(qp_->state(), QpState::kRts);
    Send(SendOpcode::kSend, 8);
  }
  EXPECT_EQ(qp_->state(), QpState::kErr);
  EXPECT_EQ(events_, (std::vector{AsyncEventType::kCqError, AsyncEventType::kQpFatal}));
  packets_.clear();
  Send(SendOpcode::kSend, 8);
  EXPECT_TRUE(packets_.empty()) << "the next send is flushed without a completion";
  EXPECT_EQ(SendStatuses().size(), send_cq_.capacity()) << "those before it are to be had";
  EXPECT_EQ(events_.size(), 2u) << "it is raised once";
}

TEST_F(UcQpTest, ADelayElementPausesTheSendQueue) {
  PostSend({.opcode = SendOpcode::kDelay, .operand = queue::DelayOperand{Microseconds(5)}}, {});
  Send(SendOpcode::kSend, 8);
  EXPECT_TRUE(packets_.empty());
  EXPECT_EQ(qp_->next_time(), Time() + Microseconds(5));
  Step step{.now = Time() + Microseconds(5), .memory = core_, .outbox = outbox_};
  qp_->OnTime(step);
  RunAll(*qp_);
  EXPECT_EQ(packets_.size(), 1u);
}

TEST_F(UcQpTest, AMessageBeforeRtsRaisesOneEvent) {
  Send(SendOpcode::kSend, 8);
  const UcConfig config{.local_qp = QpNumber(1), .path_mtu = kMtu, .who = me_};
  qp_.emplace(config, send_queue_, ReceiveSource(receive_queue_), send_cq_, receive_cq_);
  Deliver(0);  // in INIT
  EXPECT_TRUE(events_.empty());
  qp_->BecomeReadyToReceive(Psn(kStart));
  Deliver(0);
  Deliver(0);
  EXPECT_EQ(events_, (std::vector{AsyncEventType::kCommunicationEstablished}));
}

TEST_F(UcQpTest, AReceiveBufferOfAnotherDomainEndsTheQueuePair) {
  const Sge stranger{AddressOf(0), 100, Key(0)};
  ASSERT_TRUE(receive_queue_.Post({.wqe = {.id = WrId(7)}, .sges = {&stranger, 1}}).has_value());
  Send(SendOpcode::kSend, 8);
  DeliverAll();
  RunAll(*qp_);
  const Completion completion = OneReceive();
  EXPECT_EQ(completion.status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(completion.vendor_error, 'a');
  EXPECT_EQ(qp_->state(), QpState::kErr);
}

// A work request that registers memory under a key that does not exist.
class UcRegistrationTest : public UcFixture {
 protected:
  void FailToRegister(RegistrationMode mode) {
    Begin(Access::kRemote, mode);
    queue::SendWqe wqe{.id = WrId(1), .opcode = SendOpcode::kRegister};
    wqe.operand = queue::RegistrationOperand{.key = Key(0x100), .page_shift = 12};
    PostSend(wqe, {});
    Send(SendOpcode::kSend, 8);
  }
};

TEST_F(UcRegistrationTest, ADisabledRegistrationFailsLikeOtherSends) {
  Begin(Access::kRemote, RegistrationMode::kDisabled);
  const Key key = core_.regions.Reserve(pd_, 1, PageShift(12))->local;
  queue::SendWqe wqe{.id = WrId(1), .opcode = SendOpcode::kRegister};
  wqe.operand = queue::RegistrationOperand{.key = key, .page_shift = 12};
  PostSend(wqe, {});
  RunAll(*qp_);
  EXPECT_EQ(SendStatuses(), std::vector{CompletionStatus::kLocalQpOperationError});
  EXPECT_EQ(qp_->state(), QpState::kSqe);
}

TEST_F(UcRegistrationTest, InAnticipatoryModeAFailureEndsTheQueuePair) {
  PostReceive(7, 100);
  FailToRegister(RegistrationMode::kAnticipatory);
  EXPECT_EQ(SendStatuses(),
            (std::vector{CompletionStatus::kLocalQpOperationError, CompletionStatus::kFlushed}));
  EXPECT_EQ(qp_->state(), QpState::kErr);
  EXPECT_EQ(OneReceive().status, CompletionStatus::kFlushed);
}

TEST_F(UcRegistrationTest, InReactiveModeSendsAreFlushedUntilTheyAreResumed) {
  FailToRegister(RegistrationMode::kReactive);
  EXPECT_EQ(SendStatuses(),
            (std::vector{CompletionStatus::kLocalQpOperationError, CompletionStatus::kFlushed}));
  EXPECT_EQ(qp_->state(), QpState::kSqd);
  for (int i = 0; i < 2; ++i) {
    Send(SendOpcode::kSend, 8);
    EXPECT_EQ(SendStatuses(), std::vector{CompletionStatus::kFlushed}) << "posted later";
  }
  EXPECT_EQ(packets_.size(), 0u);
  qp_->ResumeSends();
  Send(SendOpcode::kSend, 8);
  EXPECT_EQ(SendStatuses(), std::vector{CompletionStatus::kSuccess});
  EXPECT_EQ(qp_->state(), QpState::kRts);
  // The receive side has continued to work.
  PostReceive(7, 100);
  DeliverAll();
  EXPECT_EQ(OneReceive().status, CompletionStatus::kSuccess);
}

}  // namespace
}  // namespace verbena::transport
