#include "adapter/error.h"

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

using memory::MemoryError;

TEST(Error, MemoryErrorsMapToErrorCodes) {
  EXPECT_EQ(ErrorOf(MemoryError::kLimitReached).code, ErrorCode::kLimit);
  EXPECT_EQ(ErrorOf(MemoryError::kInUse).code, ErrorCode::kInUse);
  EXPECT_EQ(ErrorOf(MemoryError::kNotAuthorized).code, ErrorCode::kNotPermitted);
  EXPECT_EQ(ErrorOf(MemoryError::kWraps).code, ErrorCode::kInvalid);
  EXPECT_FALSE(ErrorOf(MemoryError::kWraps).text.empty());
}

}  // namespace
}  // namespace verbena::adapter
