#include "wire/iwarp/rdmap_opcode.h"

#include <gtest/gtest.h>

namespace verbena::wire {
namespace {

const RdmapOpcodeInfo& InfoOf(RdmapOpcode opcode) { return *FindRdmapOpcode(opcode); }

TEST(RdmapOpcodeTest, HasNoRowForNumbersWithoutAMeaning) {
  for (uint8_t number = 0; number < 16; ++number) {
    const RdmapOpcodeInfo* const info = FindRdmapOpcode(static_cast<RdmapOpcode>(number));
    EXPECT_EQ(info != nullptr, number <= 11) << int{number};
  }
}

// RFC 5040, figure 4: writes and read responses are tagged, all others are not.
TEST(RdmapOpcodeTest, TaggedMessagesAreWritesAndReadResponses) {
  for (uint8_t number = 0; number < kRdmapOpcodeCount; ++number) {
    const auto opcode = static_cast<RdmapOpcode>(number);
    const bool is_tagged = opcode == RdmapOpcode::kWrite || opcode == RdmapOpcode::kReadResponse;
    EXPECT_EQ(InfoOf(opcode).is_tagged, is_tagged) << ToString(opcode);
  }
}

// RFC 5040, figure 4, and RFC 7306, figure 1.
TEST(RdmapOpcodeTest, UntaggedMessagesHaveTheirQueues) {
  for (const auto opcode : {RdmapOpcode::kSend, RdmapOpcode::kSendInvalidate,
                            RdmapOpcode::kSendSolicited, RdmapOpcode::kSendSolicitedInvalidate,
                            RdmapOpcode::kImmediate, RdmapOpcode::kImmediateSolicited}) {
    EXPECT_EQ(InfoOf(opcode).queue, DdpQueue::kSend) << ToString(opcode);
    EXPECT_TRUE(InfoOf(opcode).takes_receive) << ToString(opcode);
  }
  for (const auto opcode : {RdmapOpcode::kReadRequest, RdmapOpcode::kAtomicRequest}) {
    EXPECT_EQ(InfoOf(opcode).queue, DdpQueue::kReadRequest) << ToString(opcode);
    EXPECT_FALSE(InfoOf(opcode).takes_receive) << ToString(opcode);
  }
  EXPECT_EQ(InfoOf(RdmapOpcode::kTerminate).queue, DdpQueue::kTerminate);
  EXPECT_EQ(InfoOf(RdmapOpcode::kAtomicResponse).queue, DdpQueue::kAtomicResponse);
}

TEST(RdmapOpcodeTest, SendOpcodesHaveTheirFlags) {
  EXPECT_FALSE(InfoOf(RdmapOpcode::kSend).is_solicited);
  EXPECT_FALSE(InfoOf(RdmapOpcode::kSend).has_invalidate);
  EXPECT_TRUE(InfoOf(RdmapOpcode::kSendInvalidate).has_invalidate);
  EXPECT_FALSE(InfoOf(RdmapOpcode::kSendInvalidate).is_solicited);
  EXPECT_TRUE(InfoOf(RdmapOpcode::kSendSolicited).is_solicited);
  EXPECT_TRUE(InfoOf(RdmapOpcode::kSendSolicitedInvalidate).is_solicited);
  EXPECT_TRUE(InfoOf(RdmapOpcode::kSendSolicitedInvalidate).has_invalidate);
  EXPECT_TRUE(InfoOf(RdmapOpcode::kImmediateSolicited).is_solicited);
}

TEST(RdmapOpcodeTest, MessagesOfFixedLengthHaveIt) {
  EXPECT_EQ(InfoOf(RdmapOpcode::kReadRequest).body, 28);
  EXPECT_EQ(InfoOf(RdmapOpcode::kImmediate).body, 8);
  EXPECT_EQ(InfoOf(RdmapOpcode::kImmediateSolicited).body, 8);
  EXPECT_EQ(InfoOf(RdmapOpcode::kAtomicRequest).body, 52);
  EXPECT_EQ(InfoOf(RdmapOpcode::kAtomicResponse).body, 12);
  EXPECT_EQ(InfoOf(RdmapOpcode::kSend).body, 0);
}

TEST(RdmapOpcodeTest, HasATextForm) {
  EXPECT_EQ(ToString(RdmapOpcode::kReadResponse), "RDMA Read Response");
  EXPECT_EQ(ToString(static_cast<RdmapOpcode>(12)), "opcode 0xc");
}

}  // namespace
}  // namespace verbena::wire
