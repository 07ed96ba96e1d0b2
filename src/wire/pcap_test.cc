#include "wire/pcap.h"

#include <bit>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/wire_header.h"

namespace verbena::wire {
namespace {

using Bytes = std::vector<std::byte>;

static_assert(std::endian::native == std::endian::little, "the bytes below are little-endian");

class PcapngWriterTest : public testing::Test {
 protected:
  // The bytes written since the last call.
  Bytes Take() { return std::exchange(file_, {}); }

  Bytes file_;
  PcapngWriter writer_{[this](std::span<const std::byte> bytes) {
    file_.insert(file_.end(), bytes.begin(), bytes.end());
  }};
};

constexpr UdpFlow kIpv4{.source = IpAddress::FromIpv4(Ipv4Address(0x0A000001)),
                        .destination = IpAddress::FromIpv4(Ipv4Address(0x0A000002)),
                        .source_port = 0xC000,
                        .destination_port = 4791};

TEST_F(PcapngWriterTest, StartsWithSectionAndInterface) {
  EXPECT_EQ(Take(), FromHex("0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000 "
                            "01000000 20000000 0100 0000 00000000 0900 0100 09000000 00000000 "
                            "20000000"));
}

TEST_F(PcapngWriterTest, WritesAnIpv4Datagram) {
  Take();
  writer_.WriteUdp(Time(Nanoseconds(0x0000000123456789)), kIpv4, FromHex("aabbcc"));
  EXPECT_EQ(Take(), FromHex("06000000 50000000 00000000 01000000 89674523 2d000000 2d000000 "
                            "02000a000002 02000a000001 0800 "
                            "45 00 001f 0000 4000 40 11 26cc 0a000001 0a000002 "
                            "c000 12b7 000b 0000 aabbcc 000000 50000000"));
}

TEST_F(PcapngWriterTest, WritesAnIpv6Datagram) {
  Take();
  const UdpFlow flow{.source = {{0xFD, 1}}, .destination = {{0xFD, 2}}, .source_port = 1};
  writer_.WriteUdp(Time(), flow, {});
  EXPECT_EQ(Take(), FromHex("06000000 60000000 00000000 00000000 00000000 3e000000 3e000000 "
                            "020000000000 020000000000 86dd 60000000 0008 11 40 "
                            "fd010000000000000000000000000000 fd020000000000000000000000000000 "
                            "0001 0000 0008 0000 0000 60000000"));
}

TEST_F(PcapngWriterTest, WritesATcpSegment) {
  Take();
  const TcpHeader tcp{.source_port = 1, .destination_port = 2, .sequence = 3, .fin = true};
  writer_.WriteTcp(Time(), kIpv4.source, kIpv4.destination, tcp, FromHex("aabb"));
  EXPECT_EQ(Take(), FromHex("06000000 58000000 00000000 00000000 00000000 38000000 38000000 "
                            "02000a000002 02000a000001 0800 "
                            "45 00 002a 0000 4000 40 06 26cc 0a000001 0a000002 "
                            "0001 0002 00000003 00000000 50 01 0000 0000 0000 aabb 58000000"));
}

// A block has its size at both ends, so that readers can skip in both directions.
TEST_F(PcapngWriterTest, KeepsBlocksAligned) {
  for (std::size_t size = 0; size < 9; ++size) {
    Take();
    writer_.WriteUdp(Time(), kIpv4, Bytes(size));
    const Bytes block = Take();
    EXPECT_EQ(block.size() % 4, 0u);
    EXPECT_EQ(std::to_integer<std::size_t>(block[4]), block.size());
    EXPECT_EQ(std::to_integer<std::size_t>(block[block.size() - 4]), block.size());
  }
}

TEST_F(PcapngWriterTest, RefusesTimesBeforeTheOrigin) {
  EXPECT_DEATH(writer_.WriteUdp(Time(Nanoseconds(-1)), kIpv4, {}), "CHECK failed");
}

}  // namespace
}  // namespace verbena::wire
