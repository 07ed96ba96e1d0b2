#include "transport/common/message_opcode.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using queue::SendOpcode;
using wire::Operation;
using wire::Position;
using wire::Service;

TEST(MessageOpcodeTest, OnlyTheLastPacketHasTheImmediate) {
  for (const Service service : {Service::kRc, Service::kUc}) {
    const auto* first = FindOpcode(service, SendOpcode::kWriteWithImmediate, Position::kFirst);
    const auto* last = FindOpcode(service, SendOpcode::kWriteWithImmediate, Position::kLast);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(first->service, service);
    EXPECT_EQ(first->operation, Operation::kWrite);
    EXPECT_FALSE(first->has_immediate());
    EXPECT_TRUE(last->has_immediate());
  }
}

TEST(MessageOpcodeTest, AServiceHasOnlyItsOwnOpcodes) {
  EXPECT_NE(FindOpcode(Service::kUd, SendOpcode::kSendWithImmediate, Position::kOnly), nullptr);
  EXPECT_EQ(FindOpcode(Service::kUd, SendOpcode::kSend, Position::kFirst), nullptr);
  EXPECT_EQ(FindOpcode(Service::kUd, SendOpcode::kWrite, Position::kOnly), nullptr);
  EXPECT_EQ(FindOpcode(Service::kUc, SendOpcode::kRead, Position::kOnly), nullptr);
  EXPECT_EQ(FindOpcode(Service::kUc, SendOpcode::kSendWithInvalidate, Position::kOnly), nullptr);
  EXPECT_NE(FindOpcode(Service::kRc, SendOpcode::kSendWithInvalidate, Position::kOnly), nullptr);
}

TEST(MessageOpcodeTest, LocalWorkHasNoPacket) {
  EXPECT_EQ(FindOpcode(Service::kRc, SendOpcode::kBindWindow, Position::kOnly), nullptr);
  EXPECT_EQ(FindOpcode(Service::kRc, SendOpcode::kDelay, Position::kOnly), nullptr);
}

TEST(MessageOpcodeTest, Positions) {
  EXPECT_EQ(PositionOf(0, 1), Position::kOnly);
  EXPECT_EQ(PositionOf(0, 2), Position::kFirst);
  EXPECT_EQ(PositionOf(1, 2), Position::kLast);
  EXPECT_EQ(PositionOf(1, 3), Position::kMiddle);
}

}  // namespace
}  // namespace verbena::transport
