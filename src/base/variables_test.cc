#include "base/variables.h"

#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(VariablesTest, AreEmptyIfTheyAreNotSet) {
  EXPECT_EQ(Variable("VERBENA_TRACE"), "");
  setenv("VERBENA_TRACE", "x", 1);
  EXPECT_EQ(Variable("VERBENA_TRACE"), "x");
  unsetenv("VERBENA_TRACE");
}

TEST(VariablesTest, EachProcessMayHaveItsTrace) {
  EXPECT_EQ(TraceVariable(), "");
  setenv("VERBENA_TRACE", "/tmp/x.%p.pcapng", 1);
  EXPECT_EQ(TraceVariable(), "/tmp/x." + std::to_string(getpid()) + ".pcapng");
  unsetenv("VERBENA_TRACE");
}

TEST(VariablesTest, UnknownVariablesAreFound) {
  EXPECT_TRUE(UnknownVariables().empty());
  setenv("VERBENA_STATS", "1", 1);
  setenv("VERBENA_STAT", "1", 1);
  setenv("VERBENA", "1", 1);
  setenv("MY_VERBENA_STAT", "1", 1);
  EXPECT_EQ(UnknownVariables(), std::vector<std::string>{"VERBENA_STAT"});
  for (const char* const name : {"VERBENA_STATS", "VERBENA_STAT", "VERBENA", "MY_VERBENA_STAT"}) {
    unsetenv(name);
  }
}

}  // namespace
}  // namespace verbena
