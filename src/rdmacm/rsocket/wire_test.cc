#include "rdmacm/rsocket/wire.h"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(Message, HasItsOperationInTheHighestBits) {
  EXPECT_EQ((Message{.op = MessageOp::kData, .value = 0x1234}.Pack()), 0x1234U);
  EXPECT_EQ((Message{.op = MessageOp::kCredits, .value = 5}.Pack()), 0x80000005U);
  EXPECT_EQ((Message{.op = MessageOp::kControl, .value = 2}.Pack()), 0xE0000002U);
  EXPECT_EQ(Message::Unpack(0xC0000007U), (Message{.op = MessageOp::kIomap, .value = 7}));
}

TEST(Message, TruncatesAValueOfMoreThan29Bits) {
  EXPECT_EQ((Message{.op = MessageOp::kCredits, .value = 0xFFFFFFFF}.Pack()), 0x9FFFFFFFU);
}

TEST(RemoteBuffer, IsWrittenInTheOrderOfTheOwner) {
  const RemoteBuffer buffer{.address = 0x0102030405060708, .rkey = 0x11121314, .length = 0x212223};
  std::array<std::byte, RemoteBuffer::kSize> bytes;
  buffer.Serialize(bytes, std::endian::big);
  EXPECT_EQ(std::vector(bytes.begin(), bytes.end()),
            Bytes({1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0, 0x21, 0x22, 0x23}));
  EXPECT_EQ(RemoteBuffer::Parse(bytes, std::endian::big), buffer);
  buffer.Serialize(bytes, std::endian::little);
  EXPECT_EQ(std::vector(bytes.begin(), bytes.end()),
            Bytes({8, 7, 6, 5, 4, 3, 2, 1, 0x14, 0x13, 0x12, 0x11, 0x23, 0x22, 0x21, 0}));
  EXPECT_EQ(RemoteBuffer::Parse(bytes, std::endian::little), buffer);
}

TEST(IomapEntry, HasTheOffsetInFrontOfTheBuffer) {
  const IomapEntry entry{.offset = 0x1122, .buffer = {.address = 1, .rkey = 2, .length = 3}};
  std::array<std::byte, IomapEntry::kSize> bytes;
  entry.Serialize(bytes, std::endian::big);
  EXPECT_EQ(bytes[6], std::byte{0x11});
  EXPECT_EQ(bytes[15], std::byte{1});
  EXPECT_EQ(bytes[23], std::byte{3});
  EXPECT_EQ(IomapEntry::Parse(bytes, std::endian::big), entry);
}

const ConnectionHeader kHeader{
    .order = std::endian::little,
    .credits = 384,
    .iomap_size = 512,
    .target_list = {.address = 0x1000, .rkey = 0xAABBCCDD, .length = 2},
    .data_buffer = {.address = 0x2000, .rkey = 0x01020304, .length = 65536}};

TEST(ConnectionHeader, HasTheFormatOfRdmaCore) {
  std::array<std::byte, ConnectionHeader::kSize> bytes;
  kHeader.Serialize(bytes);
  EXPECT_EQ(
      std::vector(bytes.begin(), bytes.end()),
      Bytes({1, 2, 1, 0x80, 0, 0, 0, 0x82, 0, 0, 0,    0, 0, 0, 0x10, 0, 0xAA, 0xBB, 0xCC, 0xDD,
             0, 0, 0, 2,    0, 0, 0, 0,    0, 0, 0x20, 0, 1, 2, 3,    4, 0,    1,    0,    0}));
  EXPECT_EQ(ConnectionHeader::Parse(bytes), kHeader);
}

TEST(ConnectionHeader, HasAFlagForBigEndianPeers) {
  ConnectionHeader header = kHeader;
  header.order = std::endian::big;
  std::array<std::byte, ConnectionHeader::kSize> bytes;
  header.Serialize(bytes);
  EXPECT_EQ(bytes[1], std::byte{3});
  EXPECT_EQ(ConnectionHeader::Parse(bytes), header);
}

TEST(ConnectionHeader, WithoutTheIomapFlagThereAreNoIomaps) {
  std::array<std::byte, ConnectionHeader::kSize> bytes;
  kHeader.Serialize(bytes);
  bytes[1] = std::byte{0};
  EXPECT_EQ(ConnectionHeader::Parse(bytes)->iomap_size, 0);
}

TEST(ConnectionHeader, IsRefusedIfShortOfAnotherVersionOrWithoutTargets) {
  std::array<std::byte, ConnectionHeader::kSize> bytes;
  kHeader.Serialize(bytes);
  EXPECT_FALSE(ConnectionHeader::Parse(std::span(bytes).first(39)));
  bytes[0] = std::byte{2};
  EXPECT_FALSE(ConnectionHeader::Parse(bytes));
  ConnectionHeader without = kHeader;
  without.target_list.length = 0;
  without.Serialize(bytes);
  EXPECT_FALSE(ConnectionHeader::Parse(bytes));
}

TEST(IomapSize, IsScaledBeyond128) {
  for (const uint16_t exact : std::array<uint16_t, 7>{0, 1, 127, 128, 256, 512, 127 << 8}) {
    EXPECT_EQ(UnscaleIomapSize(ScaleIomapSize(exact)), exact);
  }
  EXPECT_EQ(UnscaleIomapSize(ScaleIomapSize(129)), 128);
  EXPECT_EQ(UnscaleIomapSize(ScaleIomapSize(1000)), 768);
  EXPECT_EQ(UnscaleIomapSize(ScaleIomapSize(0xFFFF)), 127 << 8);
}

const IpAddress kIpv6{{0xFD, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};

TEST(DatagramHeader, OfIpv4Has8Bytes) {
  const DatagramHeader header{.source = {IpAddress::FromIpv4(10, 77, 0, 2), 7174}};
  std::array<std::byte, DatagramHeader::kIpv6Size> bytes{};
  header.Serialize(bytes);
  EXPECT_EQ(std::vector(bytes.begin(), bytes.begin() + 8), Bytes({4, 8, 0x1C, 0x06, 10, 77, 0, 2}));
  EXPECT_EQ(DatagramHeader::Parse(std::span(bytes).first(8))->source, header.source);
}

TEST(DatagramHeader, OfIpv6Has24Bytes) {
  const DatagramHeader header{.source = {kIpv6, 1}};
  std::array<std::byte, DatagramHeader::kIpv6Size> bytes;
  header.Serialize(bytes);
  EXPECT_EQ(std::vector(bytes.begin(), bytes.begin() + 10),
            Bytes({6, 24, 0, 1, 0, 0, 0, 0, 0xFD, 0x77}));
  EXPECT_EQ(DatagramHeader::Parse(bytes)->source, header.source);
}

TEST(DatagramHeader, IsRefusedIfVersionAndLengthDoNotFit) {
  EXPECT_FALSE(DatagramHeader::Parse(Bytes({4, 24, 0, 1, 0, 0, 0, 0})));
  EXPECT_FALSE(DatagramHeader::Parse(Bytes({6, 24, 0, 1, 0, 0, 0, 0})));
  EXPECT_FALSE(DatagramHeader::Parse(Bytes({5, 8, 0, 1, 0, 0, 0, 0})));
  EXPECT_FALSE(DatagramHeader::Parse(Bytes({4, 8, 0, 1, 0, 0, 0})));
}

TEST(DatagramUdpHeader, NamesTheQueuePair) {
  const DatagramUdpHeader header{
      .op = MessageOp::kControl, .qpn = 0x123456, .address = IpAddress::FromIpv4(10, 0, 0, 1)};
  std::array<std::byte, DatagramUdpHeader::kIpv6Size> bytes{};
  header.Serialize(bytes);
  EXPECT_EQ(std::vector(bytes.begin(), bytes.begin() + 16),
            Bytes({0x55, 0x55, 0x55, 0x55, 4, 7, 16, 0, 0, 0x12, 0x34, 0x56, 10, 0, 0, 1}));
  const auto parsed = DatagramUdpHeader::Parse(std::span(bytes).first(16));
  EXPECT_EQ(parsed->qpn, 0x123456U);
  EXPECT_EQ(parsed->op, MessageOp::kControl);
  EXPECT_EQ(parsed->size(), 16U);
}

TEST(DatagramUdpHeader, OfIpv6Has28Bytes) {
  const DatagramUdpHeader header{.op = MessageOp::kData, .qpn = 1, .address = kIpv6};
  std::array<std::byte, DatagramUdpHeader::kIpv6Size> bytes;
  header.Serialize(bytes);
  EXPECT_EQ(bytes[6], std::byte{28});
  EXPECT_EQ(DatagramUdpHeader::Parse(bytes)->address, kIpv6);
  EXPECT_FALSE(DatagramUdpHeader::Parse(std::span(bytes).first(27)));
  bytes[0] = std::byte{0x54};
  EXPECT_FALSE(DatagramUdpHeader::Parse(bytes));
}

}  // namespace
}  // namespace verbena::rsockets
