#include "transport/common/packet_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/signal_guard.h"
#include "tests/support/pages.h"

namespace verbena::transport {
namespace {

// A message of `size` bytes; the caller sets the payload.
OutPacket MakeSend(uint32_t size) {
  OutPacket packet;
  packet.payload_size = size;
  const wire::Bth bth{.opcode =
                          wire::FindOpcode(wire::Service::kUc, wire::Operation::kSend)->opcode};
  packet.header_size = wire::PacketBuilder(packet.header, bth, size).headers().size();
  return packet;
}

std::vector<std::byte> RoomFor(const OutPacket& packet) {
  return std::vector<std::byte>(WireSizeOf(packet), std::byte{0xEE});
}

class PacketBytesTest : public testing::Test {
 protected:
  PacketBytesTest() { memory::SignalGuard::Install(); }
  ~PacketBytesTest() override { memory::SignalGuard::Uninstall(); }

  memory::PagesForTest memory_{2};
};

TEST_F(PacketBytesTest, ThePayloadIsCopiedFromMemoryAndThePadIsZero) {
  OutPacket packet = MakeSend(5);
  std::fill_n(memory_.data(), 5, std::byte{7});
  packet.payload.Begin({memory::MachineAddressOf(memory_.data()), 5});
  std::vector<std::byte> bytes = RoomFor(packet);
  ASSERT_FALSE(WritePacket(packet, bytes).has_value());
  EXPECT_EQ(bytes.size(), packet.header_size + 5 + 3 + 4);
  const auto parsed = wire::Packet::Parse(bytes);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(std::ranges::equal(parsed->payload(), std::span(memory_.data(), 5)));
  EXPECT_TRUE(
      std::ranges::all_of(std::span(bytes).last(7), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(PacketBytesTest, InlineDataIsThePayload) {
  OutPacket packet = MakeSend(4);
  const std::array inlined = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  packet.inlined = inlined;
  std::vector<std::byte> bytes = RoomFor(packet);
  ASSERT_FALSE(WritePacket(packet, bytes).has_value());
  EXPECT_TRUE(std::ranges::equal(wire::Packet::Parse(bytes)->payload(), inlined));
}

TEST_F(PacketBytesTest, ReturnsTheAddressOfAMissingByte) {
  OutPacket packet = MakeSend(8);
  const auto gone = reinterpret_cast<uintptr_t>(memory_.data()) + memory::PagesForTest::kPage;
  memory_.Protect(1, PROT_NONE);
  packet.payload.Begin({memory::MachineAddress(gone - 4), 8});
  std::vector<std::byte> bytes = RoomFor(packet);
  EXPECT_EQ(WritePacket(packet, bytes), memory::MachineAddress(gone));
}

}  // namespace
}  // namespace verbena::transport
