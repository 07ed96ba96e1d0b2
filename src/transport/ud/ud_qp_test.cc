#include "transport/ud/ud_qp.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/unreliable_fixture.h"
#include "wire/ipv4_header.h"
#include "wire/ipv6_header.h"
#include "wire/roce/deth.h"

namespace verbena::transport {
namespace {
using queue::SendOpcode;

constexpr uint32_t kQKey = 0x1234;
constexpr AddressHandleId kHandle{5};
constexpr PathId kPath{9};

class UdQpTest : public UnreliableFixture {
 protected:
  UdQpTest() {
    handles_.Add(kHandle, pd_, kPath);
    Begin(ReceiveSource(receive_queue_));
  }

  void Begin(ReceiveSource source) {
    const UdConfig config{.local_qp = QpNumber(1),
                          .q_key = QKey(kQKey),
                          .path_mtu = kMtu,
                          .who = me_,
                          .handles = &handles_};
    qp_.emplace(config, send_queue_, source, send_cq_, receive_cq_);
    qp_->BecomeReadyToReceive();
    qp_->BecomeReadyToSend(Psn(wire::kMax24));
  }

  static queue::SendWqe Wqe(uint64_t id, uint32_t q_key = kQKey) {
    return {.id = WrId(id),
            .flags = {.signaled = true},
            .operand = Datagram{kHandle, QpNumber(0x77), QKey(q_key)}};
  }
  void Send(const queue::SendWqe& wqe, uint32_t length) {
    PostSend(wqe, {SgeOf(0, length)});
    RunAll(*qp_);
  }
  void Deliver(size_t i) {
    Step step = MakeStep();
    qp_->OnPacket(PacketAt(i), origin_, step);
    Empty();
  }
  void PagesReady(FaultTicket ticket, bool available) {
    Step step = MakeStep();
    qp_->OnPagesReady(ticket, available, step);
  }

  AddressHandles handles_;
  std::optional<UdQp> qp_;
  PacketOrigin origin_{.source = IpAddress::FromIpv4(Ipv4Address(0x0A000001)),
                       .destination = IpAddress::FromIpv4(Ipv4Address(0x0A000002)),
                       .traffic_class = 3,
                       .hop_limit = 61};
};

TEST_F(UdQpTest, SendsOnePacketToTheDestinationOfTheRequest) {
  queue::SendWqe wqe = Wqe(1);
  wqe.opcode = SendOpcode::kSendWithImmediate;
  wqe.immediate = Immediate(42);
  wqe.flags.solicited = true;
  Send(wqe, kMtu);
  Send(Wqe(2), 0);
  ASSERT_EQ(packets_.size(), 2u);
  EXPECT_EQ(paths_[0], kPath);
  const wire::Packet packet = PacketAt(0);
  EXPECT_EQ(packet.bth().dest_qp, QpNumber(0x77));
  EXPECT_EQ(packet.bth().p_key, wire::kDefaultPKey);
  EXPECT_EQ(packet.bth().psn, Psn(wire::kMax24));
  EXPECT_TRUE(packet.bth().solicited_event);
  EXPECT_EQ(packet.Get<wire::Deth>(), (wire::Deth{QKey(kQKey), QpNumber(1)}));
  EXPECT_EQ(Bytes(packet.payload().begin(), packet.payload().end()), BytesAt(0, kMtu));
  EXPECT_EQ(PacketAt(1).bth().psn, Psn(0));
  EXPECT_TRUE(PacketAt(1).payload().empty());
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kSuccess, CompletionStatus::kSuccess}));
}

TEST_F(UdQpTest, CompletesOnlyWhenThePayloadHasLeft) {
  PostSend(Wqe(1), {SgeOf(0, 16)});
  EXPECT_TRUE(RunOnce(*qp_));
  EXPECT_EQ(packets_.size(), 1u);
  EXPECT_TRUE(SendStatuses().empty());
  EXPECT_FALSE(RunOnce(*qp_));
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kSuccess}));
}

TEST_F(UdQpTest, ContinuesWhenTheOutboxIsDrained) {
  for (uint64_t id = 0; id < 7; ++id) PostSend(Wqe(id), {SgeOf(id, 1)});
  EXPECT_TRUE(RunOnce(*qp_));
  EXPECT_EQ(packets_.size(), 4u);  // as many as the outbox holds
  RunAll(*qp_);
  EXPECT_EQ(packets_.size(), 7u);
  EXPECT_EQ(SendStatuses().size(), 7u);
}

TEST_F(UdQpTest, AQKeyWithTheHighBitMeansTheQueuePairsOwn) {
  Send(Wqe(1, 0x80000001), 1);
  Send(Wqe(2, 0x7FFFFFFF), 1);
  EXPECT_EQ(PacketAt(0).Get<wire::Deth>()->q_key, QKey(kQKey));
  EXPECT_EQ(PacketAt(1).Get<wire::Deth>()->q_key, QKey(0x7FFFFFFF));
}

TEST_F(UdQpTest, AFailedSendStopsTheSendQueueOnly) {
  PostSend(Wqe(1), {SgeOf(0, 8)});
  PostSend(Wqe(2), {SgeOf(0, kMtu + 1)});
  PostSend(Wqe(3), {SgeOf(0, 8)});
  RunAll(*qp_);
  EXPECT_EQ(packets_.size(), 1u);
  EXPECT_EQ(qp_->state(), QpState::kSqe);
  EXPECT_EQ(SendStatuses(),
            (std::vector{CompletionStatus::kSuccess, CompletionStatus::kLocalLengthError,
                         CompletionStatus::kFlushed}));
  PostReceive(4, 1024);
  Deliver(0);
  EXPECT_EQ(OneReceive().status, CompletionStatus::kSuccess);

  qp_->ResumeSends();
  Send(Wqe(5), 8);
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kSuccess}));
}

TEST_F(UdQpTest, RefusesUnsupportedRequests) {
  handles_.Add(AddressHandleId(6), memory::PdId(pd_.value() + 1), kPath);
  queue::SendWqe unknown = Wqe(1), foreign = Wqe(2), far = Wqe(3), write = Wqe(4);
  std::get<Datagram>(unknown.operand).handle = AddressHandleId(99);
  std::get<Datagram>(foreign.operand).handle = AddressHandleId(6);
  std::get<Datagram>(far.operand).qp = QpNumber(wire::kMax24 + 1);
  write.opcode = SendOpcode::kWrite;
  write.operand = RemoteAddress{};
  for (const queue::SendWqe& wqe : {unknown, foreign, far, write}) {
    Send(wqe, 8);
    EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kLocalQpOperationError}));
    EXPECT_EQ(qp_->state(), QpState::kSqe);
    qp_->ResumeSends();
  }
  EXPECT_TRUE(packets_.empty());
}

TEST_F(UdQpTest, MemoryOfAnotherDomainIsAProtectionError) {
  PostSend(Wqe(1), {{AddressOf(0), 8, Key(region_.local.value() ^ 1)}});
  RunAll(*qp_);
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kLocalProtectionError}));
  EXPECT_EQ(qp_->state(), QpState::kSqe);
  EXPECT_TRUE(packets_.empty());
}

TEST_F(UdQpTest, ASendWaitsForItsPages) {
  Evict(0);
  Send(Wqe(1), 8);
  EXPECT_TRUE(packets_.empty());
  ASSERT_EQ(requests_.size(), 1u);
  Restore(0);
  PagesReady(requests_[0].ticket, true);
  RunAll(*qp_);
  EXPECT_EQ(packets_.size(), 1u);
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kSuccess}));
}

TEST_F(UdQpTest, ASendOfUnavailablePagesFails) {
  Evict(0);
  Send(Wqe(1), 8);
  ASSERT_EQ(requests_.size(), 1u);
  PagesReady(requests_[0].ticket, false);
  RunAll(*qp_);
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kLocalProtectionError}));
}

TEST_F(UdQpTest, ThePayloadFollowsTheIpv4Header) {
  queue::SendWqe wqe = Wqe(1);
  wqe.opcode = SendOpcode::kSendWithImmediate;
  wqe.immediate = Immediate(42);
  Send(wqe, 100);
  PostReceive(7, 140);
  Deliver(0);
  const Completion completion = OneReceive();
  EXPECT_EQ(completion.id, WrId(7));
  EXPECT_EQ(completion.status, CompletionStatus::kSuccess);
  EXPECT_EQ(completion.opcode, CompletionOpcode::kReceive);
  EXPECT_EQ(completion.byte_count, 140u);
  EXPECT_EQ(completion.source_qp, QpNumber(1));
  EXPECT_EQ(completion.immediate, Immediate(42));
  EXPECT_TRUE(completion.has_grh);
  EXPECT_EQ(completion.sl, 8 | 2) << "IPv4 and UDP";
  EXPECT_TRUE(completion.with_immediate);

  const Bytes bytes = Received(140);
  EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 20), Bytes(20));
  const auto header = wire::Ipv4Header::Parse(std::span(bytes).subspan(20, 20));
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->source, Ipv4Address(0x0A000001));
  EXPECT_EQ(header->destination, Ipv4Address(0x0A000002));
  EXPECT_EQ(header->type_of_service, 3);
  EXPECT_EQ(header->time_to_live, 61);
  EXPECT_EQ(header->total_length, 20 + 8 + packets_[0].size());
  EXPECT_EQ(Bytes(bytes.begin() + 40, bytes.end()), BytesAt(0, 100));
}

TEST_F(UdQpTest, ThePayloadFollowsTheIpv6Header) {
  origin_.source.bytes = {0xFD, 1};
  origin_.destination.bytes = {0xFF, 0x0E, 2};
  origin_.flow_label = 0xABCDE;
  Send(Wqe(1), 0);
  PostReceive(7, 40);
  Deliver(0);
  const Completion completion = OneReceive();
  EXPECT_EQ(completion.byte_count, 40u);
  EXPECT_EQ(completion.sl, 8 | 1) << "IPv6 and UDP";
  const auto header = wire::Ipv6Header::Parse(Received(40));
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->source, origin_.source);
  EXPECT_EQ(header->destination, origin_.destination);
  EXPECT_EQ(header->flow_label, 0xABCDEu);
  EXPECT_EQ(header->traffic_class, 3);
  EXPECT_EQ(header->hop_limit, 61);
  EXPECT_EQ(header->payload_length, 8 + packets_[0].size());
}

TEST_F(UdQpTest, DropsAWrongQKey) {
  Send(Wqe(1, kQKey + 1), 8);
  PostReceive(7, 1024);
  Deliver(0);
  EXPECT_EQ(qp_->counters().bad_q_key, 1u);
  EXPECT_TRUE(Poll(receive_cq_).empty());
}

TEST_F(UdQpTest, DropsWithoutAReceiveRequest) {
  Send(Wqe(1), 8);
  Deliver(0);
  EXPECT_EQ(qp_->counters().no_receive, 1u);
  PostReceive(7, 1024);
  Deliver(0);
  EXPECT_EQ(OneReceive().status, CompletionStatus::kSuccess);
}

TEST_F(UdQpTest, DatagramsWaitForPagesInOrder) {
  Send(Wqe(1), 8);
  Send(Wqe(2), 16);
  PostReceive(7, 1024);
  PostReceive(8, 1024);
  Evict(kReceivePage);
  Deliver(0);
  Deliver(1);
  ASSERT_EQ(requests_.size(), 1u) << "asked for once";
  EXPECT_TRUE(Poll(receive_cq_).empty());
  Restore(kReceivePage);
  PagesReady(requests_[0].ticket, true);
  RunAll(*qp_);
  const auto received = Poll(receive_cq_);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].byte_count, kGrhSize + 8);
  EXPECT_EQ(received[1].byte_count, kGrhSize + 16);
  EXPECT_EQ(Received(kGrhSize + 16)[kGrhSize], BytesAt(0, 1)[0]);
  EXPECT_EQ(qp_->counters().pages_absent, 0u);
}

TEST_F(UdQpTest, AHeldDatagramKeepsItsOrigin) {
  origin_.source.bytes = {0xFD, 1};
  origin_.destination.bytes = {0xFD, 2};
  Send(Wqe(1), 8);
  PostReceive(7, 1024);
  Evict(kReceivePage);
  Deliver(0);
  origin_ = {};
  Deliver(0);
  Restore(kReceivePage);
  PagesReady(requests_[0].ticket, true);
  RunAll(*qp_);
  EXPECT_EQ(OneReceive().sl, 8 | 1) << "IPv6 and UDP";
  const auto header = wire::Ipv6Header::Parse(Received(40));
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->source.bytes[1], 1);
  EXPECT_EQ(qp_->counters().no_receive, 1u) << "the one behind it";
}

TEST_F(UdQpTest, HeldDatagramsAreBounded) {
  Send(Wqe(1), kMtu);
  PostReceive(7, 1024);
  Evict(kReceivePage);
  const size_t fit = HeldPackets::kBytesMax / packets_[0].size();
  for (size_t i = 0; i < fit; ++i) Deliver(0);
  EXPECT_EQ(qp_->counters().pages_absent, 0u);
  Deliver(0);
  EXPECT_EQ(qp_->counters().pages_absent, 1u);
  Restore(kReceivePage);
  PagesReady(requests_[0].ticket, true);
  EXPECT_TRUE(RunOnce(*qp_)) << "others have their turn between many that waited";
  RunAll(*qp_);
  EXPECT_EQ(OneReceive().byte_count, kGrhSize + kMtu);
  EXPECT_EQ(qp_->counters().no_receive, fit - 1);
}

TEST_F(UdQpTest, HeldDatagramsAreDroppedWithTheQueuePair) {
  Send(Wqe(1), 8);
  PostReceive(7, 1024);
  Evict(kReceivePage);
  Deliver(0);
  qp_->BecomeFailed();
  RunAll(*qp_);
  EXPECT_EQ(OneReceive().status, CompletionStatus::kFlushed);
  Restore(kReceivePage);
  PagesReady(requests_[0].ticket, true);
  RunAll(*qp_);
  EXPECT_TRUE(Poll(receive_cq_).empty());
}

TEST_F(UdQpTest, PagesThatMayBePresentAreRequestedUrgently) {
  // The header ends on one page, the data begins on the next.
  const std::vector sges = {SgeOf(3 * memory::kPage - kGrhSize, kGrhSize + 8)};
  ASSERT_TRUE(receive_queue_.Post({.wqe = {.id = WrId(7)}, .sges = sges}).has_value());
  Send(Wqe(1), 8);
  Evict(kReceivePage);
  Evict(3);
  Deliver(0);
  RunWithResidentPages(*qp_);
  EXPECT_EQ(qp_->counters().pages_absent, 0u);
  EXPECT_EQ(OneReceive().byte_count, kGrhSize + 8);
  EXPECT_EQ(BytesAt(3 * memory::kPage, 8), BytesAt(0, 8));
}

TEST_F(UdQpTest, PagesOfASendAreRequestedUrgently) {
  Evict(0);
  Send(Wqe(1), 8);
  RunWithResidentPages(*qp_);
  ASSERT_EQ(packets_.size(), 1u);
  PostReceive(7, 1024);
  Deliver(0);
  EXPECT_EQ(OneReceive().byte_count, kGrhSize + 8);
  EXPECT_EQ(Received(48)[40], BytesAt(0, 1)[0]);
}

TEST_F(UdQpTest, ADatagramThatWaitedForItsPayloadPageIsWritten) {
  const uint64_t start = 3 * memory::kPage - kGrhSize;
  const std::vector sges = {SgeOf(start, kGrhSize + 8)};
  ASSERT_TRUE(receive_queue_.Post({.wqe = {.id = WrId(7)}, .sges = sges}).has_value());
  Send(Wqe(1), 8);
  Evict(3);
  Deliver(0);
  Restore(3);
  PagesReady(requests_[0].ticket, true);
  RunAll(*qp_);
  EXPECT_EQ(OneReceive().byte_count, kGrhSize + 8);
  EXPECT_EQ(BytesAt(3 * memory::kPage, 8), BytesAt(0, 8));
}

TEST_F(UdQpTest, ABufferOfAnotherDomainEndsTheQueuePair) {
  const std::vector sges = {Sge{AddressOf(0), 1024, Key(region_.local.value() ^ 1)}};
  ASSERT_TRUE(receive_queue_.Post({.wqe = {.id = WrId(7)}, .sges = sges}).has_value());
  Send(Wqe(1), 8);
  Deliver(0);
  EXPECT_EQ(OneReceive().status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(qp_->state(), QpState::kErr);
}

TEST_F(UdQpTest, ABufferOfUnavailablePagesFails) {
  Send(Wqe(1), 8);
  PostReceive(7, 1024);
  Evict(kReceivePage);
  Deliver(0);
  ASSERT_EQ(requests_.size(), 1u);
  PagesReady(requests_[0].ticket, false);
  EXPECT_EQ(OneReceive().status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(qp_->state(), QpState::kErr);
}

// Length errors of a datagram are class D in the table of IBA 9.9.3: the packet is dropped
// silently. Soft-RoCE does that with a receive queue of its own (rxe_resp.c, RESPST_ERR_LENGTH, the
// class D of UC and UD). With a shared one it completes the request in error, and the queue pair
// continues. Any sender that has the Q_Key may send such a datagram, and must not be able to end
// the queue pair.
TEST_F(UdQpTest, ADatagramThatIsLongerThanTheReceiveIsDroppedAndTheReceiveStays) {
  Send(Wqe(1), 9);
  Send(Wqe(2), 8);
  PostReceive(7, 48);
  for (int i = 0; i < 3; ++i) Deliver(0);
  EXPECT_EQ(qp_->counters().too_long, 3u);
  EXPECT_TRUE(Poll(receive_cq_).empty());
  Deliver(1);
  const Completion received = OneReceive();
  EXPECT_EQ(received.status, CompletionStatus::kSuccess);
  EXPECT_EQ(received.id, WrId(7));
  EXPECT_EQ(qp_->state(), QpState::kRts);
  EXPECT_TRUE(events_.empty());
}

TEST_F(UdQpTest, ALongDatagramKeepsTheReceiveOfASharedQueue) {
  queue::SharedReceiveQueue shared(8, 4);
  Begin(ReceiveSource(shared, pd_));
  const std::vector sges = {SgeOf(kReceivePage * memory::kPage, 48)};
  ASSERT_TRUE(shared.Post({.wqe = {.id = WrId(7)}, .sges = sges}).has_value());
  Send(Wqe(1), 9);
  Send(Wqe(2), 8);
  Deliver(0);
  EXPECT_TRUE(Poll(receive_cq_).empty());
  Deliver(1);
  EXPECT_EQ(OneReceive().status, CompletionStatus::kSuccess);
  EXPECT_EQ(qp_->state(), QpState::kRts);
}

TEST_F(UdQpTest, RequestsSentBeforeAFailureAreNotFlushed) {
  PostSend(Wqe(1), {SgeOf(0, 8)});
  RunOnce(*qp_);
  PostSend(Wqe(2), {SgeOf(0, 8)});
  qp_->BecomeFailed();
  RunAll(*qp_);
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kSuccess, CompletionStatus::kFlushed}));
}

TEST_F(UdQpTest, OnASharedQueueOnlyTheTakenRequestIsFlushed) {
  queue::SharedReceiveQueue shared(8, 4);
  Begin(ReceiveSource(shared, pd_));
  const std::vector sges = {SgeOf(kReceivePage * memory::kPage, 1024)};
  for (uint64_t id = 7; id < 9; ++id) {
    ASSERT_TRUE(shared.Post({.wqe = {.id = WrId(id)}, .sges = sges}).has_value());
  }
  Send(Wqe(1), 8);
  Evict(kReceivePage);
  Deliver(0);  // takes the first request, and is dropped
  qp_->BecomeFailed();
  RunAll(*qp_);
  RunAll(*qp_);
  EXPECT_EQ(OneReceive().status, CompletionStatus::kFlushed);
  EXPECT_EQ(shared.size(), 1u);
  EXPECT_EQ(events_, (std::vector{AsyncEventType::kLastWqeReached}));
}

TEST_F(UdQpTest, AReceiveOfASharedQueueBelongsToTheQueuesDomain) {
  queue::SharedReceiveQueue shared(8, 4);
  const std::vector sges = {SgeOf(kReceivePage * memory::kPage, 1024)};
  ASSERT_TRUE(shared.Post({.wqe = {.id = WrId(7)}, .sges = sges}).has_value());
  Begin(ReceiveSource(shared, MakeDomain({.table = memory::ConsumerSpec::PrivateTable{}})));
  Send(Wqe(1), 8);
  Deliver(0);
  EXPECT_EQ(OneReceive().status, CompletionStatus::kLocalProtectionError);
}

TEST_F(UdQpTest, ALostCompletionOfASendEndsTheQueuePair) {
  PostReceive(7, 4096);
  for (uint64_t i = 0; i <= send_cq_.capacity(); ++i) {
    EXPECT_EQ(qp_->state(), QpState::kRts);
    Send(Wqe(i), 8);
  }
  EXPECT_EQ(qp_->state(), QpState::kErr);
  EXPECT_EQ(events_, (std::vector{AsyncEventType::kCqError, AsyncEventType::kQpFatal}));
  EXPECT_EQ(OneReceive().status, CompletionStatus::kFlushed);
}

TEST_F(UdQpTest, ALostCompletionOfAReceiveEndsTheQueuePair) {
  for (uint64_t i = 0; i <= receive_cq_.capacity(); ++i) {
    EXPECT_EQ(qp_->state(), QpState::kRts);
    packets_.clear();
    PostReceive(i, 4096);
    Send(Wqe(i), 8);
    Deliver(0);
    Poll(send_cq_);
  }
  EXPECT_EQ(qp_->state(), QpState::kErr);
  EXPECT_EQ(events_, (std::vector{AsyncEventType::kCqError, AsyncEventType::kQpFatal}));
}

}  // namespace
}  // namespace verbena::transport
