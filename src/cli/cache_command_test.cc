#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "tests/support/command_line.h"

namespace verbena::cli {
namespace {

// tests/integration/cache_test.py shows a program that has a cache.
TEST(CacheCommandTest, AProcessWithoutACacheIsAnError) {
  const CommandRun run = RunCommand(AddCacheCommand, "cache --pid " + std::to_string(getpid()));
  ASSERT_FALSE(run.outcome);
  EXPECT_NE(run.outcome.error().text.find("does not run with --cache"), std::string::npos);
}

TEST(CacheCommandTest, WithoutAnyProgramItPrintsSo) {
  const CommandRun run = RunCommand(AddCacheCommand, "cache");
  ASSERT_TRUE(run.outcome);
  EXPECT_FALSE(run.output.empty());
}

}  // namespace
}  // namespace verbena::cli
