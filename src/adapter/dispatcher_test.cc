#include "adapter/dispatcher.h"

#include <initializer_list>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "adapter/addresses.h"
#include "wire/roce/packet.h"
#include "wire/roce/reth.h"

namespace verbena::adapter {
namespace {

using transport::QpAttribute;
using transport::QpState;
using transport::QpType;

constexpr uint16_t kPort = 4'791;
constexpr uint16_t kPeerPort = 50'000;

fabric::IpAddress Ip(const char* text) { return *fabric::ParseIpAddress(text); }

// A connected queue pair and one for datagrams, and what may arrive for them.
class DispatcherTest : public testing::Test {
 protected:
  DispatcherTest() {
    rc_ = &Add(QpType::kRc);
    ud_ = &Add(QpType::kUd);
    transport::QpAttributes attributes;
    attributes.state = QpState::kInit;
    rc_->Modify(attributes, QpAttribute::kState);
    attributes.state = QpState::kRtr;
    rc_->set_path({.source = WireAddress(here_), .destination = WireAddress(peer_)});
    rc_->Modify(attributes, QpAttribute::kState);
  }

  QueuePair& Add(QpType type) {
    const QpSpec spec{.type = type,
                      .pd = pd_,
                      .send_cq = &cq_,
                      .receive_cq = &cq_,
                      .send = {.capacity = 1},
                      .receive = {.capacity = 1}};
    return qps_.Insert(std::make_unique<QueuePair>(*qps_.NextNumber(), spec,
                                                   QpSurroundings{.handles = &handles_}));
  }

  // A write of nothing, with whatever a test wants of its header.
  std::vector<std::byte> Packet(const wire::Bth& changes, uint16_t identification = 0) {
    wire::Bth bth = changes;
    bth.opcode =
        wire::FindOpcode(wire::Service::kRc, wire::Operation::kWrite, wire::Position::kOnly)
            ->opcode;
    std::vector<std::byte> bytes(64);
    wire::PacketBuilder builder(bytes, bth, 0);
    builder.Add(wire::Reth{});
    bytes.resize(builder.size());
    const wire::UdpFlow flow{.source = WireAddress(peer_),
                             .destination = WireAddress(here_),
                             .source_port = kPeerPort,
                             .destination_port = kPort};
    wire::Seal(flow.HeadersFor(bytes.size()).bytes(), bytes);
    const auto end = std::span(bytes).last(wire::kIcrcSize);
    const uint32_t delta = wire::IdentificationDelta(identification, bytes.size()).value();
    wire::StoreIcrc(wire::Icrc(wire::LoadIcrc(end).value() ^ delta), end);
    return bytes;
  }
  fabric::Datagram From(const std::vector<std::byte>& bytes) const {
    return {.from = {peer_, kPeerPort}, .to = here_, .bytes = bytes};
  }
  void Show(const fabric::Datagram& datagram) { dispatcher_.OnDatagram(datagram, turn_); }
  uint64_t Dropped(Drop drop) const { return counters_.dropped_for(drop); }
  uint64_t AllDropped() const {
    uint64_t all = 0;
    for (const uint64_t count : counters_.dropped) all += count;
    return all;
  }

  const fabric::IpAddress here_ = Ip("10.0.0.1"), peer_ = Ip("10.0.0.2");
  memory::MemoryCore core_;
  memory::PdId pd_ = *core_.domains.Allocate(*core_.consumers.Open({}));
  Cq cq_{8, nullptr};
  transport::AddressHandles handles_;
  QpTable<QueuePair> qps_{3, 10};
  transport::MulticastGroups groups_{{.groups = 4, .members = 4}};
  RunQueue<QueuePair> run_queue_;
  PortCounters counters_;
  transport::Outbox outbox_{8};
  transport::Turn turn_{Time(), core_, outbox_};
  Dispatcher dispatcher_{kPort, qps_, groups_, run_queue_, counters_};
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

// The socket is not asked for the destination while there are connections only.
TEST_F(DispatcherTest, WhereTheDestinationIsNotToldTheIcrcTells) {
  const auto packet = Packet({.dest_qp = rc_->number()});
  fabric::Datagram datagram = From(packet);
  datagram.to = {};
  Show(datagram);
  EXPECT_EQ(AllDropped(), 0U);
  EXPECT_EQ(rc_->traffic.packets_received, 1U);

  AddressVector elsewhere = rc_->path();
  elsewhere.source = WireAddress(Ip("10.0.0.7"));
  rc_->set_path(elsewhere);
  Show(datagram);
  EXPECT_EQ(Dropped(Drop::kBadIcrc), 1U);
  EXPECT_EQ(rc_->traffic.packets_received, 1U);

  const auto to_datagrams = Packet({.dest_qp = ud_->number()});
  datagram.bytes = to_datagrams;
  Show(datagram);
  EXPECT_EQ(Dropped(Drop::kWrongPeer), 1U);
}

TEST_F(DispatcherTest, AnyIdentificationIsRightAndNoOtherDifference) {
  for (const uint16_t identification : std::initializer_list<uint16_t>{0, 1, 2, 0x1234, 0xFFFF}) {
    const auto packet = Packet({.dest_qp = rc_->number()}, identification);
    fabric::Datagram datagram = From(packet);
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

TEST_F(DispatcherTest, NoiseIsMalformed) {
  for (const size_t size : {0U, 1U, 11U, 12U, 15U}) {
    const std::vector<std::byte> noise(size, std::byte{0xEE});
    Show(From(noise));
  }
  EXPECT_EQ(Dropped(Drop::kMalformed), 5U);
}

TEST_F(DispatcherTest, OnlyQueuePairsOfThisProcessAreFound) {
  Show(From(Packet({.dest_qp = wire::QpNumber(0x03'FFF0)})));
  Show(From(Packet({.dest_qp = wire::QpNumber(rc_->number().value() ^ 0x01'0000)})));
  EXPECT_EQ(Dropped(Drop::kNoSuchQp), 2U);
}

TEST_F(DispatcherTest, AConnectedQueuePairHearsItsPeerOnly) {
  const auto packet = Packet({.dest_qp = rc_->number()});
  fabric::Datagram other = From(packet);
  other.from.ip = Ip("10.0.0.3");
  dispatcher_.OnLoopback(other, turn_);  // where no ICRC could be in the way
  other = From(packet);
  other.to = Ip("10.0.0.9");
  dispatcher_.OnLoopback(other, turn_);
  EXPECT_EQ(Dropped(Drop::kWrongPeer), 2U);
  EXPECT_TRUE(run_queue_.empty());
}

TEST_F(DispatcherTest, PartitionsAndServicesAreKeptApart) {
  Show(From(Packet({.p_key = wire::PKey(0x1234), .dest_qp = rc_->number()})));
  EXPECT_EQ(Dropped(Drop::kWrongPKey), 1U);
  // A limited member may talk to us, who are a full one.
  Show(From(Packet({.p_key = wire::PKey(0x7FFF), .dest_qp = rc_->number()})));
  EXPECT_EQ(rc_->traffic.packets_received, 1U);
  Show(From(Packet({.dest_qp = ud_->number()})));
  EXPECT_EQ(Dropped(Drop::kWrongService), 1U);
}

TEST_F(DispatcherTest, AGroupWithoutMembersDrops) {
  const auto packet = Packet({.dest_qp = wire::kMulticastQp});
  Show(From(packet));
  EXPECT_EQ(Dropped(Drop::kNoMember), 1U);
  // The packet is of the wrong service for a member, but it gets as far as that.
  fabric::Datagram datagram = From(packet);
  datagram.to = Ip("239.1.1.1");
  ASSERT_TRUE(groups_.Attach(WireAddress(datagram.to), ud_->number()).has_value());
  dispatcher_.OnLoopback(datagram, turn_);
  EXPECT_EQ(Dropped(Drop::kWrongService), 1U);
}

}  // namespace
}  // namespace verbena::adapter
