#include "queue/wqe.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::queue {
namespace {

constexpr SendOpcode OpcodeOf(size_t i) { return static_cast<SendOpcode>(i); }

TEST(WqeTest, EveryOpcodeHasItsOwnName) {
  std::set<std::string> names;
  for (size_t i = 0; i < kSendOpcodeCount; ++i) names.insert(NameOf(OpcodeOf(i)));
  EXPECT_EQ(names.size(), kSendOpcodeCount);
  EXPECT_FALSE(names.contains("?"));
}

TEST(WqeTest, PropertiesAgreeWithEachOther) {
  for (size_t i = 0; i < kSendOpcodeCount; ++i) {
    const SendProperties& p = PropertiesOf(OpcodeOf(i));
    SCOPED_TRACE(NameOf(OpcodeOf(i)));
    EXPECT_NE(p.operands, 0);
    if (p.is_local) {
      EXPECT_FALSE(p.carries_payload || p.touches_remote || p.needs_response);
    }
    if (p.carries_immediate) {
      EXPECT_TRUE(p.carries_payload);
    }
    if (p.needs_response) {
      EXPECT_TRUE(p.touches_remote);
    }
  }
}

TEST(WqeTest, RemoteReadsNeedAResponse) {
  EXPECT_TRUE(PropertiesOf(SendOpcode::kRead).needs_response);
  EXPECT_TRUE(PropertiesOf(SendOpcode::kCompareAndSwap).needs_response);
  EXPECT_TRUE(PropertiesOf(SendOpcode::kFetchAndAdd).needs_response);
  EXPECT_TRUE(PropertiesOf(SendOpcode::kAtomicWrite).needs_response);
  EXPECT_TRUE(PropertiesOf(SendOpcode::kFlush).needs_response);
  EXPECT_FALSE(PropertiesOf(SendOpcode::kWrite).needs_response);
  EXPECT_FALSE(PropertiesOf(SendOpcode::kSend).needs_response);
}

TEST(WqeTest, OperandIsRead) {
  const SendWqe wqe{.opcode = SendOpcode::kWrite,
                    .operand = RemoteAddress{.address = 0x1000, .key = Key(7)}};
  EXPECT_EQ(wqe.As<RemoteAddress>().address, 0x1000u);
  EXPECT_EQ(wqe.As<RemoteAddress>().key, Key(7));
}

TEST(WqeDeathTest, WrongOperandStops) {
  const SendWqe wqe{.operand = RemoteAddress{}};
  EXPECT_DEATH(static_cast<void>(wqe.As<Atomic>()), "CHECK failed");
}

}  // namespace
}  // namespace verbena::queue
