#include "queue/completion.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::queue {
namespace {

TEST(CompletionTest, StatusesHaveTheValuesOfTheVerbs) {
  EXPECT_EQ(static_cast<int>(CompletionStatus::kSuccess), 0);
  EXPECT_EQ(static_cast<int>(CompletionStatus::kLocalProtectionError), 4);
  EXPECT_EQ(static_cast<int>(CompletionStatus::kFlushed), 5);
  EXPECT_EQ(static_cast<int>(CompletionStatus::kRemoteAccessError), 10);
  EXPECT_EQ(static_cast<int>(CompletionStatus::kRetryExceeded), 12);
  EXPECT_EQ(static_cast<int>(CompletionStatus::kRnrRetryExceeded), 13);
  EXPECT_EQ(static_cast<int>(CompletionStatus::kFatalError), 19);
  EXPECT_EQ(static_cast<int>(CompletionStatus::kGeneralError), 21);
  EXPECT_EQ(static_cast<int>(CompletionStatus::kTagMatchingIncomplete), 23);
}

TEST(CompletionTest, EveryStatusHasItsOwnName) {
  std::set<std::string> names;
  for (size_t i = 0; i < kCompletionStatusCount; ++i) {
    names.insert(NameOf(static_cast<CompletionStatus>(i)));
  }
  EXPECT_EQ(names.size(), kCompletionStatusCount);
  EXPECT_FALSE(names.contains("?"));
}

TEST(CompletionTest, SendOpcodesCompleteAsSends) {
  for (size_t i = 0; i < kSendOpcodeCount; ++i) {
    const CompletionOpcode opcode = CompletionOpcodeOf(static_cast<SendOpcode>(i));
    EXPECT_FALSE(IsReceive(opcode));
    EXPECT_STRNE(NameOf(opcode), "?");
  }
  EXPECT_EQ(CompletionOpcodeOf(SendOpcode::kSendWithInvalidate), CompletionOpcode::kSend);
  EXPECT_EQ(CompletionOpcodeOf(SendOpcode::kRegisterAndSend), CompletionOpcode::kSend);
  EXPECT_EQ(CompletionOpcodeOf(SendOpcode::kWriteWithImmediate), CompletionOpcode::kWrite);
  EXPECT_EQ(CompletionOpcodeOf(SendOpcode::kFetchAndAdd), CompletionOpcode::kFetchAdd);
}

TEST(CompletionTest, ReceivesAreMarked) {
  EXPECT_TRUE(IsReceive(CompletionOpcode::kReceive));
  EXPECT_TRUE(IsReceive(CompletionOpcode::kReceiveWithImmediate));
  EXPECT_STREQ(NameOf(CompletionOpcode::kReceive), "receive");
}

}  // namespace
}  // namespace verbena::queue
