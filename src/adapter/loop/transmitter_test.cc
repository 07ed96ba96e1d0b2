#include "adapter/loop/transmitter.h"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/signal_guard.h"
#include "tests/support/adapter_world.h"
#include "wire/roce/packet.h"
#include "wire/roce/reth.h"

namespace verbena::adapter {
namespace {

constexpr uint64_t kPage = 4'096;

std::unique_ptr<fabric::UdpFabric> OpenFabric() {
  fabric::UdpFabricOptions options;
  options.endpoint = TestEndpoint();
  return std::move(*fabric::UdpFabric::Open(options));
}

class TransmitterTest : public testing::Test {
 protected:
  void SetUp() override {
    memory::SignalGuard::Install();
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (uint64_t i = 0; i < 2 * kPage; ++i) memory_[i] = static_cast<std::byte>(i * 7);
  }
  void TearDown() override { munmap(memory_, 2 * kPage); }

  transport::PathId AddPath(const char* from, const char* to) {
    return *paths_.Add({.source = TestIp(from), .destination = TestIp(to)});
  }
  // A write of `size` bytes from `offset` of the memory, to a queue pair of endpoint `to`.
  transport::OutPacket Packet(transport::PathId path, fabric::EndpointId to, uint64_t offset,
                              uint32_t size) const {
    transport::OutPacket packet;
    packet.source_qp = from_;
    packet.path = path;
    packet.payload_size = size;
    if (size > 0) {
      packet.payload.Begin({memory::MachineAddressOf(memory_ + offset), size});
    }
    const wire::Bth bth{.opcode = wire::FindOpcode(wire::Service::kRc, wire::Operation::kWrite,
                                                   wire::Position::kOnly)
                                      ->opcode,
                        .dest_qp = MakeQpNumber(to, 5)};
    wire::PacketBuilder builder(packet.header, bth, size);
    builder.Add(wire::Reth{.dma_length = size});
    packet.header_size = builder.headers().size();
    return packet;
  }
  std::vector<std::byte> Receive(fabric::UdpFabric& fabric) {
    for (const Time end = Now() + Seconds(10); Now() < end;) {
      const auto datagrams = fabric.Receive();
      if (datagrams.empty()) continue;
      EXPECT_EQ(datagrams.size(), 1U);
      return {datagrams[0].bytes.begin(), datagrams[0].bytes.end()};
    }
    return {};
  }

  static uint16_t ReceivePort(fabric::UdpFabric& fabric) {
    for (const Time end = Now() + Seconds(10); Now() < end;) {
      const auto datagrams = fabric.Receive();
      if (!datagrams.empty()) return datagrams[0].from.port;
    }
    return 0;
  }

  std::byte* memory_ = nullptr;
  fabric::Fabric& ours() { return endpoints_.first(); }

  EndpointSet endpoints_{OpenFabric()};
  std::unique_ptr<fabric::UdpFabric> theirs_ = OpenFabric();
  const QpNumber from_ = MakeQpNumber(endpoints_.first().endpoint(), 7);
  fabric::Loopback loopback_{{}};
  fabric::SystemAddresses addresses_;
  PathTable paths_{10, addresses_};
  PortCounters counters_;
  Transmitter transmitter_{endpoints_, loopback_, paths_,    PortsOf(TestOptions()),
                           counters_,  8,         addresses_};
};

TEST_F(TransmitterTest, ArrivesAtThePortOfTheEndpointWithTheRightIcrc) {
  for (const char* ip : {"127.0.0.1", "::1"}) {
    const auto path = AddPath(ip, ip);
    const auto packet = Packet(path, theirs_->endpoint(), 1, 4'095);
    ASSERT_FALSE(transmitter_.Stage(packet).has_value());
    ASSERT_TRUE(transmitter_.Flush());
    const std::vector<std::byte> bytes = Receive(*theirs_);
    const auto parsed = wire::Packet::Parse(bytes);
    ASSERT_TRUE(parsed.has_value());
    ASSERT_EQ(parsed->payload().size(), 4'095U);
    EXPECT_EQ(std::memcmp(parsed->payload().data(), memory_ + 1, 4'095), 0);
    const wire::UdpFlow flow{.source = TestIp(ip),
                             .destination = TestIp(ip),
                             .source_port = ours().port(),
                             .destination_port = theirs_->port()};
    EXPECT_EQ(parsed->icrc(),
              wire::IcrcOf(flow.HeadersFor(bytes.size()).bytes(), parsed->covered()));
  }
  EXPECT_EQ(counters_.packets_sent, 2U);
  EXPECT_EQ(counters_.loopback_packets, 0U);
}

TEST_F(TransmitterTest, PacketsToItsOwnEndpointTakeTheLoopback) {
  const auto path = AddPath("127.0.0.1", "127.0.0.2");
  ASSERT_FALSE(transmitter_.Stage(Packet(path, ours().endpoint(), 0, 100)).has_value());
  const auto datagrams = loopback_.Receive();
  ASSERT_EQ(datagrams.size(), 1U);
  const auto parsed = wire::Packet::Parse(datagrams[0].bytes);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(std::memcmp(parsed->payload().data(), memory_, 100), 0);
  EXPECT_EQ(datagrams[0].from.ip, TestIp("127.0.0.1"));
  EXPECT_EQ(datagrams[0].to, TestIp("127.0.0.2"));
  EXPECT_EQ(counters_.loopback_packets, 1U);
}

TEST_F(TransmitterTest, InlineDataIsSentFromTheQueueElement) {
  std::array<std::byte, 3> data{std::byte{1}, std::byte{2}, std::byte{3}};
  auto packet = Packet(AddPath("::1", "::1"), ours().endpoint(), 0, 3);
  packet.payload.Clear();
  packet.inlined = data;
  ASSERT_FALSE(transmitter_.Stage(packet).has_value());
  const auto parsed = wire::Packet::Parse(loopback_.Receive()[0].bytes);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(std::memcmp(parsed->payload().data(), data.data(), 3), 0);
}

TEST_F(TransmitterTest, APacketWithUnmappedPayloadIsNotSent) {
  munmap(memory_ + kPage, kPage);
  const auto path = AddPath("127.0.0.1", "127.0.0.1");
  for (const fabric::EndpointId to : {ours().endpoint(), theirs_->endpoint()}) {
    const auto gone = transmitter_.Stage(Packet(path, to, kPage - 10, 20));
    ASSERT_TRUE(gone.has_value());
    EXPECT_EQ(gone->value(), memory::MachineAddressOf(memory_ + kPage).value());
  }
  EXPECT_EQ(counters_.copies_failed, 2U);
  EXPECT_EQ(counters_.packets_sent, 0U);
  EXPECT_TRUE(loopback_.empty());
  ASSERT_TRUE(transmitter_.Flush());
  EXPECT_EQ(ours().transmit_counters().datagrams, 0U);
}

TEST_F(TransmitterTest, APacketWithoutAPathIsLost) {
  const auto path = AddPath("127.0.0.1", "127.0.0.1");
  const auto packet = Packet(path, theirs_->endpoint(), 0, 8);
  paths_.Remove(path);
  EXPECT_FALSE(transmitter_.Stage(packet).has_value());
  EXPECT_EQ(counters_.paths_gone, 1U);
  EXPECT_EQ(counters_.packets_sent, 0U);
}

// Peers check the source port of a packet.
TEST_F(TransmitterTest, LeavesByTheSocketOfItsQueuePairsEndpoint) {
  auto another = OpenFabric();
  const uint16_t port = another->port();
  const fabric::EndpointId endpoint = another->endpoint();
  ASSERT_TRUE(endpoints_.Add(std::move(another)).has_value());
  const auto path = AddPath("127.0.0.1", "127.0.0.1");
  for (const bool is_second : {false, true}) {
    auto packet = Packet(path, theirs_->endpoint(), 0, 8);
    if (is_second) packet.source_qp = MakeQpNumber(endpoint, 7);
    ASSERT_FALSE(transmitter_.Stage(packet).has_value());
    ASSERT_TRUE(transmitter_.Flush());
    EXPECT_EQ(ReceivePort(*theirs_), is_second ? port : ours().port());
  }
  // Both endpoints are of this process.
  ASSERT_FALSE(transmitter_.Stage(Packet(path, endpoint, 0, 8)).has_value());
  const auto datagrams = loopback_.Receive();
  ASSERT_EQ(datagrams.size(), 1U);
  EXPECT_EQ(datagrams[0].from.port, ours().port());
}

TEST_F(TransmitterTest, HasRoomForComputesHowManyPacketsFit) {
  const auto path = AddPath("127.0.0.1", "127.0.0.1");
  EXPECT_TRUE(transmitter_.HasRoomFor(64, from_));
  EXPECT_FALSE(transmitter_.HasRoomFor(1'000'000, from_));
  size_t staged = 0;
  while (transmitter_.HasRoomFor(1, from_)) {
    ASSERT_LT(++staged, 10'000U);
    ASSERT_FALSE(transmitter_.Stage(Packet(path, theirs_->endpoint(), 0, 4'096)).has_value());
  }
  EXPECT_TRUE(transmitter_.Flush());
  EXPECT_TRUE(transmitter_.HasRoomFor(1, from_));
}

// How a path is learned to lose segments: see transport::SegmentLosses.
class TransmitterSegmentTest : public TransmitterTest {
 protected:
  using Fate = transport::SegmentReport::Fate;

  void SetUp() override {
    TransmitterTest::SetUp();
    if (!ours().segments()) GTEST_SKIP() << "this kernel has no UDP_SEGMENT";
  }
  // How many messages the kernel gets for four packets of one size.
  uint64_t MessagesForFour(transport::PathId path, bool single = false) {
    const uint64_t before = ours().transmit_counters().messages;
    for (int i = 0; i < 4; ++i) {
      auto packet = Packet(path, theirs_->endpoint(), 0, 100);
      packet.single = single;
      EXPECT_FALSE(transmitter_.Stage(packet).has_value());
    }
    EXPECT_TRUE(transmitter_.Flush());
    return ours().transmit_counters().messages - before;
  }
  // Reports a lost message of 4 segments; returns the warning for the user.
  std::optional<std::string> Lose(transport::PathId path) {
    return transmitter_.OnSegments({path, 4, 128, Fate::kLost}, now_);
  }

  Time now_ = Now();
};

TEST_F(TransmitterSegmentTest, ASinglePacketLeavesAlone) {
  const auto path = AddPath("127.0.0.1", "127.0.0.1");
  EXPECT_EQ(MessagesForFour(path), 1U);
  EXPECT_EQ(MessagesForFour(path, true), 4U);
}

TEST_F(TransmitterSegmentTest, APathThatLosesSegmentsGetsSinglePacketsAndOneWarning) {
  const auto path = AddPath("127.0.0.1", "127.0.0.1");
  const auto same = AddPath("127.0.0.1", "127.0.0.1");
  const auto other = AddPath("127.0.0.1", "127.0.0.2");
  for (int i = 1; i < transport::SegmentLosses::kLossesToLearn; ++i) {
    EXPECT_EQ(Lose(i % 2 != 0 ? path : same), std::nullopt);
  }
  EXPECT_EQ(MessagesForFour(path), 1U);
  const auto warning = Lose(path);
  ASSERT_TRUE(warning.has_value());
  EXPECT_NE(warning->find("from 127.0.0.1 to 127.0.0.1"), std::string::npos) << *warning;
  EXPECT_NE(warning->find("tx-udp-segmentation off"), std::string::npos) << *warning;
  EXPECT_EQ(Lose(path), std::nullopt);
  EXPECT_EQ(counters_.paths_single, 1U);
  EXPECT_EQ(MessagesForFour(path), 4U);
  EXPECT_EQ(MessagesForFour(same), 4U);
  EXPECT_EQ(MessagesForFour(other), 1U);

  now_ = now_ + transport::SegmentLosses::kSingleFor;
  transmitter_.OnTime(now_);
  EXPECT_EQ(MessagesForFour(path), 1U) << "it is tried again";
}

TEST_F(TransmitterSegmentTest, ADeliveryAndAnAddressChangeClearAPath) {
  const auto path = AddPath("127.0.0.1", "127.0.0.1");
  Lose(path);
  EXPECT_TRUE(transmitter_.segments_in_doubt());
  EXPECT_EQ(transmitter_.OnSegments({path, 4, 128, Fate::kArrived}, now_), std::nullopt);
  EXPECT_FALSE(transmitter_.segments_in_doubt());
  for (int i = 0; i < transport::SegmentLosses::kLossesToLearn; ++i) Lose(path);
  transmitter_.ClearPaths();
  EXPECT_EQ(MessagesForFour(path), 1U);
}

// Nothing is flushed, so no packet leaves this machine.
TEST_F(TransmitterSegmentTest, SmallUnansweredPacketsLeaveTheMachineOneByOne) {
  const auto away = AddPath("127.0.0.1", "192.0.2.1");
  const auto here = AddPath("127.0.0.1", "127.0.0.1");
  // How many messages the kernel would get for two packets.
  const auto messages = [&](wire::Service service, transport::PathId path, uint32_t size,
                            wire::Operation operation = wire::Operation::kSend) {
    EndpointSet endpoints(OpenFabric());
    Transmitter transmitter(endpoints, loopback_, paths_, PortsOf(TestOptions()), counters_, 8,
                            addresses_);
    const size_t before = endpoints.first().room(1);
    for (int i = 0; i < 2; ++i) {
      auto packet = Packet(path, theirs_->endpoint(), 0, size);
      packet.source_qp = MakeQpNumber(endpoints.first().endpoint(), 7);
      auto bth = *wire::Bth::Parse(packet.header);
      bth.opcode = wire::FindOpcode(service, operation, wire::Position::kOnly)->opcode;
      bth.Serialize(packet.header);
      EXPECT_FALSE(transmitter.Stage(packet).has_value());
    }
    return before - endpoints.first().room(1);
  };
  EXPECT_EQ(messages(wire::Service::kRc, away, 100), 1U);
  EXPECT_EQ(messages(wire::Service::kUc, away, 100), 2U);
  EXPECT_EQ(messages(wire::Service::kUd, away, 100), 2U);
  EXPECT_EQ(messages(wire::Service::kUd, away, 480), 1U);
  EXPECT_EQ(messages(wire::Service::kUc, here, 100), 1U);
  EXPECT_EQ(messages(wire::Service::kRc, away, 0, wire::Operation::kAcknowledge), 2U);
  EXPECT_EQ(messages(wire::Service::kRc, here, 0, wire::Operation::kAcknowledge), 1U);
}

TEST_F(TransmitterSegmentTest, WithoutSegmentationNoLossIsRecorded) {
  fabric::UdpFabricOptions options;
  options.endpoint = TestEndpoint();
  options.socket.offloads = false;
  EndpointSet plain(std::move(*fabric::UdpFabric::Open(options)));
  Transmitter transmitter(plain, loopback_, paths_, PortsOf(TestOptions()), counters_, 8,
                          addresses_);
  const auto path = AddPath("127.0.0.1", "127.0.0.1");
  for (int i = 0; i < transport::SegmentLosses::kLossesToLearn; ++i) {
    EXPECT_EQ(transmitter.OnSegments({path, 4, 128, Fate::kLost}, now_), std::nullopt);
  }
  EXPECT_EQ(counters_.paths_single, 0U);
}

}  // namespace
}  // namespace verbena::adapter
