#include "adapter/transmitter.h"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "adapter/addresses.h"
#include "memory/signal_guard.h"
#include "tests/support/adapter_world.h"
#include "wire/roce/packet.h"
#include "wire/roce/reth.h"

namespace verbena::adapter {
namespace {

constexpr uint64_t kPage = 4'096;

std::unique_ptr<fabric::UdpFabric> OpenFabric() {
  fabric::UdpFabricOptions options;
  options.slots.base_port = TestBasePort();
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
  // A write of `size` bytes at `offset` of the memory, to a queue pair of that slot.
  transport::OutPacket Packet(transport::PathId path, uint8_t slot, uint64_t offset,
                              uint32_t size) const {
    transport::OutPacket packet;
    packet.path = path;
    packet.payload_size = size;
    if (size > 0) {
      packet.payload.Begin({memory::MachineAddressOf(memory_ + offset), size});
    }
    const wire::Bth bth{.opcode = wire::FindOpcode(wire::Service::kRc, wire::Operation::kWrite,
                                                   wire::Position::kOnly)
                                      ->opcode,
                        .dest_qp = wire::QpNumber(uint32_t{slot} << 16 | 5)};
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

  std::byte* memory_ = nullptr;
  std::unique_ptr<fabric::UdpFabric> ours_ = OpenFabric(), theirs_ = OpenFabric();
  fabric::Loopback loopback_{{}};
  PathTable paths_{10};
  PortCounters counters_;
  Transmitter transmitter_{
      *ours_, loopback_, paths_, {.base_port = TestBasePort(), .strict = false}, counters_, 8};
};

TEST_F(TransmitterTest, ArrivesAtThePortOfTheSlotWithTheRightIcrc) {
  for (const char* ip : {"127.0.0.1", "::1"}) {
    const auto path = AddPath(ip, ip);
    const auto packet = Packet(path, theirs_->slot().value(), 1, 4'095);
    ASSERT_FALSE(transmitter_.Stage(packet).has_value());
    ASSERT_TRUE(transmitter_.Flush());
    const std::vector<std::byte> bytes = Receive(*theirs_);
    const auto parsed = wire::Packet::Parse(bytes);
    ASSERT_TRUE(parsed.has_value());
    ASSERT_EQ(parsed->payload().size(), 4'095U);
    EXPECT_EQ(std::memcmp(parsed->payload().data(), memory_ + 1, 4'095), 0);
    const wire::UdpFlow flow{.source = TestIp(ip),
                             .destination = TestIp(ip),
                             .source_port = ours_->port(),
                             .destination_port = theirs_->port()};
    EXPECT_EQ(parsed->icrc(),
              wire::IcrcOf(flow.HeadersFor(bytes.size()).bytes(), parsed->covered()));
  }
  EXPECT_EQ(counters_.packets_sent, 2U);
  EXPECT_EQ(counters_.loopback_packets, 0U);
}

TEST_F(TransmitterTest, TakesTheShortCutToItsOwnSlot) {
  const auto path = AddPath("127.0.0.1", "127.0.0.2");
  ASSERT_FALSE(transmitter_.Stage(Packet(path, ours_->slot().value(), 0, 100)).has_value());
  const auto datagrams = loopback_.Receive();
  ASSERT_EQ(datagrams.size(), 1U);
  const auto parsed = wire::Packet::Parse(datagrams[0].bytes);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(std::memcmp(parsed->payload().data(), memory_, 100), 0);
  EXPECT_EQ(WireAddress(datagrams[0].from.ip), TestIp("127.0.0.1"));
  EXPECT_EQ(WireAddress(datagrams[0].to), TestIp("127.0.0.2"));
  EXPECT_EQ(counters_.loopback_packets, 1U);
}

TEST_F(TransmitterTest, InlineDataIsTakenFromWhereItIs) {
  std::array<std::byte, 3> data{std::byte{1}, std::byte{2}, std::byte{3}};
  auto packet = Packet(AddPath("::1", "::1"), ours_->slot().value(), 0, 3);
  packet.payload.Clear();
  packet.inlined = data;
  ASSERT_FALSE(transmitter_.Stage(packet).has_value());
  const auto parsed = wire::Packet::Parse(loopback_.Receive()[0].bytes);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(std::memcmp(parsed->payload().data(), data.data(), 3), 0);
}

TEST_F(TransmitterTest, PayloadThatIsGoneIsNotSent) {
  munmap(memory_ + kPage, kPage);
  const auto path = AddPath("127.0.0.1", "127.0.0.1");
  for (const uint8_t slot : {ours_->slot().value(), theirs_->slot().value()}) {
    const auto gone = transmitter_.Stage(Packet(path, slot, kPage - 10, 20));
    ASSERT_TRUE(gone.has_value());
    EXPECT_EQ(gone->value(), memory::MachineAddressOf(memory_ + kPage).value());
  }
  EXPECT_EQ(counters_.copies_failed, 2U);
  EXPECT_EQ(counters_.packets_sent, 0U);
  EXPECT_TRUE(loopback_.empty());
  ASSERT_TRUE(transmitter_.Flush());
  EXPECT_EQ(ours_->transmit_counters().datagrams, 0U);
}

TEST_F(TransmitterTest, APathThatIsGoneIsALoss) {
  const auto path = AddPath("127.0.0.1", "127.0.0.1");
  const auto packet = Packet(path, theirs_->slot().value(), 0, 8);
  paths_.Remove(path);
  EXPECT_FALSE(transmitter_.Stage(packet).has_value());
  EXPECT_EQ(counters_.paths_gone, 1U);
  EXPECT_EQ(counters_.packets_sent, 0U);
}

TEST_F(TransmitterTest, KnowsHowMuchFits) {
  const auto path = AddPath("127.0.0.1", "127.0.0.1");
  EXPECT_TRUE(transmitter_.HasRoomFor(64));
  EXPECT_FALSE(transmitter_.HasRoomFor(1'000'000));
  size_t staged = 0;
  while (transmitter_.HasRoomFor(1)) {
    ASSERT_LT(++staged, 10'000U);
    ASSERT_FALSE(transmitter_.Stage(Packet(path, theirs_->slot().value(), 0, 4'096)).has_value());
  }
  EXPECT_TRUE(transmitter_.Flush());
  EXPECT_TRUE(transmitter_.HasRoomFor(1));
}

}  // namespace
}  // namespace verbena::adapter
