#include "verbs/thrown.h"

#include <cerrno>
#include <new>
#include <system_error>

#include <gtest/gtest.h>

namespace verbena::verbs {
namespace {

template <class Exception>
Error Caught(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return Thrown();
  }
}

TEST(ThrownTest, OutOfMemoryIsALimitError) {
  const Error error = Caught(std::bad_alloc());
  EXPECT_EQ(error.code, ErrorCode::kLimit);
  EXPECT_EQ(error.text, "out of memory");
}

TEST(ThrownTest, AFailedThreadStartIsASystemError) {
  const Error error =
      Caught(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  EXPECT_EQ(error.code, ErrorCode::kSystem);
  EXPECT_EQ(error.os_error, EAGAIN);
  EXPECT_TRUE(error.text.starts_with("the system starts no more threads: ")) << error.text;
}

TEST(ThrownDeathTest, AnythingElseIsABug) { EXPECT_DEATH(static_cast<void>(Caught(1)), ""); }

}  // namespace
}  // namespace verbena::verbs
