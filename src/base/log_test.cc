#include "base/log.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace verbena {
namespace {

class LogTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("VERBENA_LOG"); }

  static std::string All(const char* wanted) {
    if (wanted != nullptr) setenv("VERBENA_LOG", wanted, 1);
    ::testing::internal::CaptureStderr();
    Log(LogLevel::kError, "e");
    Log(LogLevel::kWarning, "w");
    Log(LogLevel::kInfo, "i");
    Log(LogLevel::kDebug, "d");
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(LogTest, PrintsUpToItsLevel) {
  EXPECT_EQ(All(nullptr), "verbena: e\nverbena: w\n");
  EXPECT_EQ(All("error"), "verbena: e\n");
  EXPECT_EQ(All("info"), "verbena: e\nverbena: w\nverbena: i\n");
  EXPECT_EQ(All("debug"), "verbena: e\nverbena: w\nverbena: i\nverbena: d\n");
  EXPECT_EQ(All("nonsense"), "verbena: e\nverbena: w\n");
}

TEST_F(LogTest, OnceIsOnceForEachText) {
  ::testing::internal::CaptureStderr();
  LogOnce("log_test: one");
  LogOnce("log_test: one");
  LogOnce("log_test: two");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "verbena: log_test: one\nverbena: log_test: two\n");
}

TEST_F(LogTest, RequestedOutputIsPrintedAtAnyLevel) {
  setenv("VERBENA_LOG", "error", 1);
  ::testing::internal::CaptureStderr();
  LogAlways("several\nlines\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "verbena: several\nlines\n");
}

}  // namespace
}  // namespace verbena
