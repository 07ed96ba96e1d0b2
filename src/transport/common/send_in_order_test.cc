#include "transport/common/send_in_order.h"

#include <vector>

#include <gtest/gtest.h>

#include "wire/roce/packet.h"

namespace verbena::transport {
namespace {

class SendInOrderTest : public testing::Test {
 protected:
  void Add(wire::Operation operation, uint32_t psn) {
    OutPacket& packet = outbox_.AddPacket();
    const wire::OpcodeInfo* const info =
        wire::FindOpcode(wire::Service::kRc, operation, wire::Position::kOnly);
    packet.header_size = wire::Bth::kSize;
    wire::Bth{.opcode = info->opcode, .psn = Psn(psn)}.Serialize(packet.header);
  }
  static uint32_t PsnOf(const OutPacket& packet) {
    return wire::Bth::Parse(packet.header)->psn.value();
  }
  // Sends while the memory of the packet `lost` is gone.
  void Send(uint32_t lost, bool takes_back = true) {
    SendInOrder(
        outbox_.packets(),
        [&](const OutPacket& packet) -> std::optional<memory::MachineAddress> {
          if (PsnOf(packet) == lost) return memory::MachineAddress(0x1000);
          sent_.push_back(PsnOf(packet));
          return std::nullopt;
        },
        [&](const OutPacket& packet, std::optional<memory::MachineAddress> gone) {
          taken_back_.push_back(PsnOf(packet));
          EXPECT_EQ(gone.has_value(), PsnOf(packet) == lost);
          return takes_back || gone.has_value();
        });
  }

  Outbox outbox_{8};
  std::vector<uint32_t> sent_, taken_back_;
};

using Psns = std::vector<uint32_t>;

TEST_F(SendInOrderTest, SendsAllPackets) {
  for (const uint32_t psn : {1U, 2U, 3U}) Add(wire::Operation::kSend, psn);
  Send(0);
  EXPECT_EQ(sent_, (Psns{1, 2, 3}));
  EXPECT_EQ(taken_back_, Psns{});
}

TEST_F(SendInOrderTest, PacketsAfterALostOneAreTakenBack) {
  Add(wire::Operation::kSend, 1);
  Add(wire::Operation::kSend, 2);
  Add(wire::Operation::kSend, 3);
  Add(wire::Operation::kReadResponse, 9);  // of the responder half
  Send(2);
  EXPECT_EQ(sent_, (Psns{1, 9}));
  EXPECT_EQ(taken_back_, (Psns{2, 3}));
}

TEST_F(SendInOrderTest, APacketThatTheQueuePairKeepsIsSent) {
  Add(wire::Operation::kReadResponse, 1);
  Add(wire::Operation::kAcknowledge, 2);
  Send(1, false);
  EXPECT_EQ(sent_, Psns{2});
}

}  // namespace
}  // namespace verbena::transport
