// Extended connections end to end: one sending queue pair, one receiving, and a domain of two
// receivers with different protection domains.

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/signal_guard.h"
#include "tests/support/out_packets.h"
#include "transport/rc/rc_qp.h"
#include "transport/xrc/xrc_receivers.h"

namespace verbena::transport {
namespace {

using queue::SendOpcode;

constexpr uint64_t kPage = 4096;

// One process of the receiving node.
struct Process {
  explicit Process(memory::MemoryCore& core)
      : pd(*core.domains.Allocate(*core.consumers.Open({}))), srq(16, 1), cq(16), page(kPage) {
    const uint64_t at = address();
    keys = *core.regions.Register(
        {.pd = pd,
         .start = KeyAddress(at),
         .length = kPage,
         .rights = Access::kLocalRead | Access::kLocalWrite | Access::kRemote},
        memory::LinearBacking{memory::PhysicalAddress(at)});
    const uint64_t pages = core.table.Find(keys.local.index())->table->page_count();
    CHECK(core.regions.MapPages(keys.local, 0, pages, {}, true).has_value());
  }

  uint64_t address() const { return reinterpret_cast<uintptr_t>(page.data()); }
  Sge Bytes(uint64_t offset, uint32_t length) const {
    return {address() + offset, length, keys.local};
  }
  RemoteAddress Remote(uint64_t offset) const { return {address() + offset, keys.remote}; }
  void PostReceive(uint64_t id, uint64_t offset) {
    const Sge sge = Bytes(offset, 64);
    CHECK(srq.Post({.wqe = {.id = WrId(id)}, .sges = {&sge, 1}}).has_value());
  }
  std::vector<Completion> Poll() {
    std::array<Completion, 16> completions;
    const size_t count = cq.Poll(completions).value();
    return {completions.begin(), completions.begin() + static_cast<long>(count)};
  }

  memory::PdId pd;
  queue::SharedReceiveQueue srq;
  queue::CompletionQueue cq;
  std::vector<std::byte> page;
  memory::RegionKeys keys;
};

class XrcTest : public testing::Test {
 protected:
  XrcTest() {
    memory::SignalGuard::Install();
    receivers_.Add({SrqNumber(5), &first_.srq, &first_.cq, first_.pd});
    receivers_.Add({SrqNumber(6), &second_.srq, &second_.cq, second_.pd});
    RcConfig config;
    config.path_mtu = 256;
    config.ack_timeout = Milliseconds(4);
    config.rnr_retry = 0;
    config.min_rnr_timer = wire::RnrTimerAtLeast(Microseconds(100));
    config.remote_rights = Access::kRemote;
    config.type = QpType::kXrcSend;
    config.local_qp = QpNumber(1);
    config.remote_qp = QpNumber(2);
    config.who = {me_.pd, QpNumber(1)};
    send_qp_ = std::make_unique<RcQp>(config, send_queue_, ReceiveSource(), me_.cq, me_.cq);
    config.type = QpType::kXrcReceive;
    config.local_qp = QpNumber(2);
    config.remote_qp = QpNumber(1);
    config.who = {memory::PdId(), QpNumber(2)};
    receive_qp_ = std::make_unique<RcQp>(config, no_queue_, no_cq_, receivers_);
    for (RcQp* const qp : {send_qp_.get(), receive_qp_.get()}) {
      qp->BecomeReadyToReceive(Psn(100));
      qp->BecomeReadyToSend(Psn(100));
    }
    for (size_t i = 0; i < kPage; ++i) me_.page[i] = static_cast<std::byte>(i * 3 + 1);
  }
  ~XrcTest() override { memory::SignalGuard::Uninstall(); }

  void Post(SendOpcode opcode, uint32_t srq, uint32_t length, queue::SendOperand operand = {}) {
    queue::SendWqe wqe;
    wqe.id = WrId(++posted_);
    wqe.opcode = opcode;
    wqe.flags.signaled = true;
    wqe.remote_srq = SrqNumber(srq);
    wqe.operand = operand;
    const Sge sge = me_.Bytes(0, length);
    CHECK(send_queue_.Post({.wqe = wqe, .sges = {&sge, 1}}).has_value());
  }

  // Delivers packets in both directions until there are none.
  void DeliverAll() {
    for (bool moved = true; moved;) {
      moved = Move(*send_qp_, here_, *receive_qp_, there_);
      moved |= Move(*receive_qp_, there_, *send_qp_, here_);
    }
  }
  CompletionStatus LastStatus() {
    const auto ended = me_.Poll();
    return ended.empty() ? CompletionStatus::kFlushed : ended.back().status;
  }

  bool Move(RcQp& from, memory::MemoryCore& core, RcQp& to, memory::MemoryCore& peer_core) {
    Step step{now_, core, outbox_};
    from.Run(step);
    Outbox unused(8);
    Step peer{now_, peer_core, unused};
    for (const OutPacket& out : outbox_.packets()) {
      const std::vector<std::byte> bytes = BytesOf(out);
      const auto packet = wire::Packet::Parse(bytes);
      EXPECT_TRUE(packet.has_value());
      EXPECT_EQ(packet->info().service, wire::Service::kXrc);
      to.OnPacket(*packet, peer);
    }
    const bool moved = !outbox_.packets().empty();
    outbox_.Clear();
    EXPECT_TRUE(from.IsConsistent());
    return moved;
  }

  Time now_{Seconds(1)};
  memory::MemoryCore here_, there_;
  Outbox outbox_{64};
  Process me_{here_};
  Process first_{there_}, second_{there_};
  XrcReceivers receivers_;
  queue::SendQueue send_queue_{{.capacity = 16, .sges_max = 1}};
  queue::SendQueue no_queue_{{}};
  queue::CompletionQueue no_cq_{1};
  std::unique_ptr<RcQp> send_qp_, receive_qp_;
  uint64_t posted_ = 0;
};

TEST_F(XrcTest, EachMessageGoesToTheReceiverThatItNames) {
  first_.PostReceive(11, 0);
  second_.PostReceive(22, 128);
  Post(SendOpcode::kSend, 6, 40);
  Post(SendOpcode::kSend, 5, 50);
  DeliverAll();
  const auto first = first_.Poll();
  const auto second = second_.Poll();
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].id, WrId(11));
  EXPECT_EQ(first[0].byte_count, 50u);
  EXPECT_EQ(first[0].qp, QpNumber(2));
  EXPECT_EQ(second[0].id, WrId(22));
  EXPECT_EQ(std::memcmp(first_.page.data(), me_.page.data(), 50), 0);
  EXPECT_EQ(std::memcmp(second_.page.data() + 128, me_.page.data(), 40), 0);
  EXPECT_EQ(me_.Poll().size(), 2u);
}

TEST_F(XrcTest, AWriteOfManyPacketsAReadAndAnAtomicUseTheReceiversMemory) {
  Post(SendOpcode::kWrite, 5, 1000, first_.Remote(8));
  DeliverAll();
  EXPECT_EQ(LastStatus(), CompletionStatus::kSuccess);
  EXPECT_EQ(std::memcmp(first_.page.data() + 8, me_.page.data(), 1000), 0);
  std::memset(second_.page.data(), 0x5A, kPage);
  Post(SendOpcode::kRead, 6, 600, second_.Remote(0));
  DeliverAll();
  EXPECT_EQ(LastStatus(), CompletionStatus::kSuccess);
  EXPECT_EQ(me_.page[599], std::byte{0x5A});
  std::memset(second_.page.data() + 8 - second_.address() % 8, 0, 8);
  const uint64_t word = 8 - second_.address() % 8;
  Post(SendOpcode::kFetchAndAdd, 6, 8,
       queue::Atomic{.remote = second_.Remote(word), .compare_or_add = 3});
  DeliverAll();
  EXPECT_EQ(LastStatus(), CompletionStatus::kSuccess);
  EXPECT_EQ(second_.page[word], std::byte{3});
}

TEST_F(XrcTest, AKeyOfAnotherReceiverIsRefused) {
  Post(SendOpcode::kWrite, 6, 8, first_.Remote(0));
  DeliverAll();
  EXPECT_EQ(LastStatus(), CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(first_.page[0], std::byte{0});
}

TEST_F(XrcTest, AMissingReceiverIsAnInvalidRequest) {
  Post(SendOpcode::kSend, 7, 8);
  DeliverAll();
  EXPECT_EQ(LastStatus(), CompletionStatus::kRemoteInvalidRequest);
  EXPECT_EQ(receive_qp_->responder_failure()->reason, NakReason(ResponderError::kNoSuchReceiver));
}

TEST_F(XrcTest, AReceiverWithoutARequestIsNotReady) {
  Post(SendOpcode::kSend, 5, 8);
  DeliverAll();
  EXPECT_EQ(LastStatus(), CompletionStatus::kRnrRetryExceeded);
}

TEST_F(XrcTest, AReceiverThatLeavesFailsItsMessage) {
  first_.PostReceive(1, 0);
  Post(SendOpcode::kSend, 5, 64);
  // Absent pages keep its request taken.
  CHECK(there_.regions.UnmapPages(first_.keys.local, 0, 1).has_value());
  Move(*send_qp_, here_, *receive_qp_, there_);
  Outbox outbox(8);
  Step step{now_, there_, outbox};
  receive_qp_->DropReceiver(first_.srq, step);
  receivers_.Remove(SrqNumber(5));
  EXPECT_EQ(receive_qp_->responder_failure()->reason, NakReason(ResponderError::kNoSuchReceiver));
  EXPECT_TRUE(first_.srq.IsConsistent());
  EXPECT_TRUE(first_.Poll().empty());
}

TEST_F(XrcTest, UnsupportedOperationsFailLocally) {
  Post(SendOpcode::kAtomicWrite, 5, 8, first_.Remote(0));
  DeliverAll();
  EXPECT_EQ(LastStatus(), CompletionStatus::kLocalQpOperationError);
}

}  // namespace
}  // namespace verbena::transport
