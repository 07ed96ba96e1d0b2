#include "adapter/error.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

using memory::MemoryError;

TEST(Error, MemoryErrorsBecomeWhatTheVerbsKnow) {
  EXPECT_EQ(ErrorOf(MemoryError::kLimitReached).code, ErrorCode::kLimit);
  EXPECT_EQ(ErrorOf(MemoryError::kInUse).code, ErrorCode::kInUse);
  EXPECT_EQ(ErrorOf(MemoryError::kNotAuthorized).code, ErrorCode::kNotPermitted);
  EXPECT_EQ(ErrorOf(MemoryError::kWraps).code, ErrorCode::kInvalid);
  EXPECT_FALSE(ErrorOf(MemoryError::kWraps).text.empty());
}

TEST(Error, ALimitNamesTheOptionThatRaisesIt) {
  const Error error = LimitError(7, "queue pairs", "qps_max");
  EXPECT_EQ(error.code, ErrorCode::kLimit);
  EXPECT_EQ(error.text, "the limit of 7 queue pairs is reached (Options::qps_max)");
}

TEST(Error, TheSystemsReasonIsKept) {
  errno = EMFILE;
  const Error error = SystemError("eventfd");
  EXPECT_EQ(error.code, ErrorCode::kSystem);
  EXPECT_EQ(error.text, "eventfd: Too many open files");
  EXPECT_EQ(error.os_error, EMFILE);
}

TEST(Error, EveryCodeHasAName) {
  EXPECT_STREQ(NameOf(ErrorCode::kInvalid), "invalid");
  EXPECT_STREQ(NameOf(ErrorCode::kForked), "forked");
}

}  // namespace
}  // namespace verbena::adapter
