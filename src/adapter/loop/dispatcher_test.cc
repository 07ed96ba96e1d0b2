#include "adapter/loop/dispatcher.h"

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/wire_packets.h"
#include "wire/roce/deth.h"
#include "wire/roce/packet.h"
#include "wire/roce/reth.h"

namespace verbena::adapter {
namespace {

using transport::QpAttribute;

constexpr uint16_t kPort = 4'791;
// A peer at endpoint 5 of its machine.
constexpr QpNumber kPeerQp(0x005'123);
constexpr uint16_t kPeerPort = 61'005;

IpAddress Ip(const char* text) { return *ParseIpAddress(text); }

// A connected queue pair and a UD queue pair, and datagrams for them.
class DispatcherTest : public testing::Test {
 protected:
  DispatcherTest() {
    qps_.AddEndpoint(fabric::EndpointId(3));
    rc_ = &Add(QpType::kRc);
    ud_ = &Add(QpType::kUd);
    transport::QpSettings attributes;
    attributes.state = QpState::kInit;
    rc_->Modify(attributes, QpAttribute::kState);
    Connect(*rc_, kPeerQp);
  }

  void Connect(QueuePair& qp, QpNumber to) {
    transport::QpSettings attributes;
    attributes.state = QpState::kRtr;
    attributes.remote_qp = to;
    qp.set_path(AddressVector{.source = here_, .destination = peer_});
    qp.Modify(attributes, QpAttribute::kState | QpAttribute::kRemoteQp);
  }

  QueuePair& Add(QpType type, const PortMap& ports = {}) {
    const QpInit spec{.type = type,
                      .pd = pd_,
                      .send_cq = &cq_,
                      .receive_cq = &cq_,
                      .send = {.capacity = 1},
                      .receive = {.capacity = 1}};
    return qps_.Insert(std::make_unique<QueuePair>(
        *qps_.NextNumber(), spec, QpContext{.handles = &handles_, .ports = ports}));
  }

  // An empty RDMA write; `changes` replaces fields of its BTH.
  std::vector<std::byte> Packet(const wire::Bth& changes, uint16_t identification = 0) {
    wire::Bth bth = changes;
    bth.opcode =
        wire::FindOpcode(wire::Service::kRc, wire::Operation::kWrite, wire::Position::kOnly)
            ->opcode;
    std::vector<std::byte> bytes = wire::BuildPacket(bth, {}, wire::Reth{});
    SealAs(bytes, identification);
    return bytes;
  }
  // An empty UD send.
  static std::vector<std::byte> UdPacket(QpNumber to, QpNumber from) {
    const wire::Bth bth{.opcode = wire::FindOpcode(wire::Service::kUd, wire::Operation::kSend,
                                                   wire::Position::kOnly)
                                      ->opcode,
                        .dest_qp = to};
    return wire::BuildPacket(bth, {}, wire::Deth{.source_qp = from});
  }
  void SealAs(std::vector<std::byte>& bytes, uint16_t identification) const {
    const wire::UdpFlow flow{
        .source = peer_, .destination = here_, .source_port = kPeerPort, .destination_port = kPort};
    wire::Seal(flow.HeadersFor(bytes.size()).bytes(), bytes);
    const auto end = std::span(bytes).last(wire::kIcrcSize);
    const uint32_t delta = wire::IdentificationDelta(identification, bytes.size()).value();
    wire::StoreIcrc(wire::Icrc(wire::LoadIcrc(end).value() ^ delta), end);
  }
  fabric::ReceivedDatagram From(const std::vector<std::byte>& bytes) const {
    return {.from = {peer_, kPeerPort}, .to = here_, .bytes = bytes};
  }
  void Show(const fabric::ReceivedDatagram& datagram) {
    dispatcher_.OnDatagram(datagram, kPort, step_);
  }
  uint64_t Dropped(Drop drop) const { return counters_.dropped_for(drop); }
  uint64_t AllDropped() const {
    uint64_t all = 0;
    for (const uint64_t count : counters_.dropped) all += count;
    return all;
  }

  const IpAddress here_ = Ip("10.0.0.1"), peer_ = Ip("10.0.0.2");
  memory::MemoryCore core_;
  memory::PdId pd_ = *core_.domains.Allocate(*core_.consumers.Open({}));
  Cq cq_{8, nullptr};
  transport::AddressHandles handles_;
  QpTable<QueuePair> qps_{10, 1};
  transport::MulticastGroups groups_{{.groups = 4, .members = 4}};
  RunQueue<QueuePair> run_queue_;
  PortCounters counters_;
  transport::Outbox outbox_{8};
  transport::Step step_{Time(), core_, outbox_};
  std::vector<std::string> warnings_;
  Dispatcher dispatcher_{qps_, groups_, run_queue_, counters_,
                         [this](const std::string& warning) { warnings_.push_back(warning); }};
  QueuePair* rc_ = nullptr;
  QueuePair* ud_ = nullptr;
};

TEST_F(DispatcherTest, APacketReachesItsQueuePairWhichThenRuns) {
  const auto packet = Packet({.dest_qp = rc_->number()});
  Show(From(packet));
  EXPECT_EQ(AllDropped(), 0U);
  EXPECT_EQ(rc_->traffic.packets_received, 1U);
  EXPECT_EQ(rc_->traffic.bytes_received, packet.size());
  EXPECT_EQ(counters_.packets_received, 1U);
  EXPECT_EQ(run_queue_.Pop(), rc_);
}

// The socket does not report the destination while all queue pairs are connected.
TEST_F(DispatcherTest, WithoutTheDestinationAddressTheIcrcDecides) {
  const auto packet = Packet({.dest_qp = rc_->number()});
  fabric::ReceivedDatagram datagram = From(packet);
  datagram.to = {};
  Show(datagram);
  EXPECT_EQ(AllDropped(), 0U);
  EXPECT_EQ(rc_->traffic.packets_received, 1U);

  AddressVector elsewhere = rc_->path();
  elsewhere.source = Ip("10.0.0.7");
  rc_->set_path(elsewhere);
  Show(datagram);
  EXPECT_EQ(Dropped(Drop::kBadIcrc), 1U);
  EXPECT_EQ(rc_->traffic.packets_received, 1U);

  const auto to_datagrams = Packet({.dest_qp = ud_->number()});
  datagram.bytes = to_datagrams;
  Show(datagram);
  EXPECT_EQ(Dropped(Drop::kWrongPeer), 1U);
}

TEST_F(DispatcherTest, TheIcrcAcceptsAnyIdentificationButNoOtherDifference) {
  for (const uint16_t identification : std::initializer_list<uint16_t>{0x1234, 0xFFFF, 0, 1, 2}) {
    const auto packet = Packet({.dest_qp = rc_->number()}, identification);
    fabric::ReceivedDatagram datagram = From(packet);
    for (const uint8_t segment : std::initializer_list<uint8_t>{0, 1, 9}) {
      datagram.segment = segment;
      Show(datagram);
    }
  }
  EXPECT_EQ(AllDropped(), 0U);
  auto wrong = Packet({.dest_qp = rc_->number()});
  for (size_t i = 12; i < wrong.size(); ++i) {
    wrong[i] ^= std::byte{0x10};
    Show(From(wrong));
    wrong[i] ^= std::byte{0x10};
  }
  EXPECT_EQ(Dropped(Drop::kBadIcrc), wrong.size() - 12);
}

// One corrupted packet in 65,536 has the right ICRC for some identification.
TEST_F(DispatcherTest, ALargeIdentificationIsCorruptionIfTheSenderUsesSmallOnes) {
  const auto usual = Packet({.dest_qp = rc_->number()}, 3);
  const auto strange = Packet({.dest_qp = rc_->number()}, 0x1234);
  for (int i = 0; i < 20; ++i) Show(From(usual));
  Show(From(strange));
  EXPECT_EQ(Dropped(Drop::kBadIcrc), 1U);
  for (int i = 0; i < 5; ++i) Show(From(strange));
  EXPECT_LE(Dropped(Drop::kBadIcrc), 4U) << "another sender has come to its place";
  EXPECT_EQ(AllDropped(), Dropped(Drop::kBadIcrc));
}

TEST_F(DispatcherTest, RandomBytesAreMalformed) {
  for (const size_t size : {0U, 1U, 11U, 12U, 15U}) {
    const std::vector<std::byte> noise(size, std::byte{0xEE});
    Show(From(noise));
  }
  EXPECT_EQ(Dropped(Drop::kMalformed), 5U);
}

TEST_F(DispatcherTest, OnlyQueuePairsOfThisProcessAreFound) {
  Show(From(Packet({.dest_qp = MakeQpNumber(fabric::EndpointId(3), 1)})));
  Show(From(Packet({.dest_qp = QpNumber(rc_->number().value() ^ 0x001'000)})));
  EXPECT_EQ(Dropped(Drop::kNoSuchQp), 2U);
}

TEST_F(DispatcherTest, AConnectedQueuePairAcceptsPacketsOfItsPeerOnly) {
  const auto packet = Packet({.dest_qp = rc_->number()});
  fabric::ReceivedDatagram other = From(packet);
  other.from.ip = Ip("10.0.0.3");
  dispatcher_.OnLoopback(other, step_);  // loopback: no ICRC check
  other = From(packet);
  other.to = Ip("10.0.0.9");
  dispatcher_.OnLoopback(other, step_);
  EXPECT_EQ(Dropped(Drop::kWrongPeer), 2U);
  EXPECT_TRUE(run_queue_.empty());
}

// QP numbers are reused, in this process or in the next one at the same endpoint. A peer that sends
// to the old queue pair, or forges, sends from another port than the peer of the new one.
TEST_F(DispatcherTest, AConnectedQueuePairAcceptsThePortOfItsPeersEndpointOnly) {
  const auto packet = Packet({.dest_qp = rc_->number()});
  for (const uint16_t port : std::initializer_list<uint16_t>{4'791, 50'000, 61'004, 61'006}) {
    fabric::ReceivedDatagram other = From(packet);
    other.from.port = port;
    dispatcher_.OnLoopback(other, step_);
  }
  EXPECT_EQ(Dropped(Drop::kWrongPort), 4U);
  EXPECT_EQ(rc_->traffic.packets_received, 0U);
  EXPECT_TRUE(run_queue_.empty()) << "nothing has changed";
  ASSERT_EQ(warnings_.size(), 1U) << "reported once";
  EXPECT_NE(warnings_[0].find("10.0.0.2:4791"), std::string::npos) << warnings_[0];
  EXPECT_NE(warnings_[0].find("--strict"), std::string::npos) << warnings_[0];
}

TEST_F(DispatcherTest, AReconnectedPeerMayHaveAnotherPort) {
  transport::QpSettings reset;
  reset.state = QpState::kReset;
  rc_->Modify(reset, QpAttribute::kState);
  reset.state = QpState::kInit;
  rc_->Modify(reset, QpAttribute::kState);
  const auto packet = Packet({.dest_qp = rc_->number()});
  Show(From(packet));
  EXPECT_EQ(AllDropped(), 0U) << "no peer is known: its state drops it";
  Connect(*rc_, QpNumber(0x006'123));
  Show(From(packet));
  EXPECT_EQ(Dropped(Drop::kWrongPort), 1U);
}

TEST_F(DispatcherTest, ADatagramMustComeFromThePortOfItsSourceQueuePair) {
  const auto honest = UdPacket(ud_->number(), kPeerQp);
  dispatcher_.OnLoopback(From(honest), step_);
  EXPECT_EQ(AllDropped(), 0U);
  EXPECT_EQ(ud_->traffic.packets_received, 1U);
  const auto liar = UdPacket(ud_->number(), QpNumber(0x006'123));
  dispatcher_.OnLoopback(From(liar), step_);
  EXPECT_EQ(Dropped(Drop::kWrongPort), 1U);
}

TEST_F(DispatcherTest, InStrictModePeersSendFromAnyPort) {
  const PortMap strict{.strict = true};
  QueuePair& rc = Add(QpType::kRc, strict);
  QueuePair& ud = Add(QpType::kUd, strict);
  transport::QpSettings attributes;
  attributes.state = QpState::kInit;
  rc.Modify(attributes, QpAttribute::kState);
  Connect(rc, QpNumber(0x123'456));
  const auto packet = Packet({.dest_qp = rc.number()});
  Show(From(packet));
  const auto datagram = UdPacket(ud.number(), QpNumber(0x123'456));
  dispatcher_.OnLoopback(From(datagram), step_);
  EXPECT_EQ(AllDropped(), 0U);
  EXPECT_EQ(rc.traffic.packets_received, 1U);
  EXPECT_EQ(ud.traffic.packets_received, 1U);
}

TEST_F(DispatcherTest, PacketsOfAnotherPartitionOrServiceAreDropped) {
  Show(From(Packet({.p_key = wire::PKey(0x1234), .dest_qp = rc_->number()})));
  EXPECT_EQ(Dropped(Drop::kWrongPKey), 1U);
  // Limited members may talk to full members, and this end is a full one.
  Show(From(Packet({.p_key = wire::PKey(0x7FFF), .dest_qp = rc_->number()})));
  EXPECT_EQ(rc_->traffic.packets_received, 1U);
  Show(From(Packet({.dest_qp = ud_->number()})));
  EXPECT_EQ(Dropped(Drop::kWrongService), 1U);
}

TEST_F(DispatcherTest, ADatagramToAGroupWithoutMembersIsDropped) {
  const auto packet = Packet({.dest_qp = wire::kMulticastQp});
  Show(From(packet));
  EXPECT_EQ(Dropped(Drop::kNoMember), 1U);
  // The service does not fit the member, but the packet gets as far as that check.
  fabric::ReceivedDatagram datagram = From(packet);
  datagram.to = Ip("239.1.1.1");
  ASSERT_TRUE(groups_.Attach(datagram.to, ud_->number()).has_value());
  dispatcher_.OnLoopback(datagram, step_);
  EXPECT_EQ(Dropped(Drop::kWrongService), 1U);
}

}  // namespace
}  // namespace verbena::adapter
