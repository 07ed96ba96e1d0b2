#include "cli/completions.h"

#include <string>

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

TEST(CompletionsTest, AnErrorNamesTheStatusAndGivesAdvice) {
  const std::string lost = InWords(Completion{.status = CompletionStatus::kRetryExceeded}).text;
  EXPECT_NE(lost.find(NameOf(CompletionStatus::kRetryExceeded)), std::string::npos);
  EXPECT_NE(lost.find("firewall"), std::string::npos);
  const std::string other = InWords(Completion{.status = CompletionStatus::kFatalError}).text;
  EXPECT_NE(other.find(NameOf(CompletionStatus::kFatalError)), std::string::npos);
}

TEST(CompletionsTest, ASuccessfulPostIsNoErrorAndAFailedOneNamesItsReason) {
  EXPECT_TRUE(InWords(PostResult()));
  const auto full = InWords(PostResult(tl::unexpected(PostError{PostReason::kQueueFull})));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kLimit);
  EXPECT_NE(full.error().text.find(NameOf(PostReason::kQueueFull)), std::string::npos);
}

}  // namespace
}  // namespace verbena::cli
