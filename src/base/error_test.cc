#include "base/error.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(ErrorTest, ALimitNamesTheOptionThatRaisesIt) {
  const Error error = LimitError(7, "queue pairs", "qps_max");
  EXPECT_EQ(error.code, ErrorCode::kLimit);
  EXPECT_EQ(error.text, "the limit of 7 queue pairs is reached (Options::qps_max)");
}

TEST(ErrorTest, TheSystemsReasonIsKept) {
  errno = EMFILE;
  const Error error = SystemError("eventfd");
  EXPECT_EQ(error.code, ErrorCode::kSystem);
  EXPECT_EQ(error.text, "eventfd: Too many open files");
  EXPECT_EQ(error.os_error, EMFILE);
}

TEST(ErrorTest, EveryCodeHasAName) {
  EXPECT_STREQ(NameOf(ErrorCode::kInvalid), "invalid");
  EXPECT_STREQ(NameOf(ErrorCode::kOverflow), "overflow");
}

}  // namespace
}  // namespace verbena
