#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/json.h"
#include "tests/support/command_line.h"

namespace verbena::cli {
namespace {

TEST(BenchCommandTest, MeasuresEverythingByDefault) {
  const CommandRun run = RunCommand(AddBenchCommand, "bench --self --json -n 32");
  ASSERT_TRUE(run.outcome) << run.outcome.error().text;
  const auto json = FromText(run.output);
  ASSERT_EQ(json.size(), 11);  // four operations, three figures; no bandwidth of atomics
  for (const auto& one : json) EXPECT_GE(one["requests"], 32);
  EXPECT_EQ(json[0]["operation"], "write");
  EXPECT_EQ(json[0]["depth"], 1);
  EXPECT_EQ(json[10]["operation"], "send");
  EXPECT_EQ(json[10]["bytes"], 1 << 20);
}

TEST(BenchCommandTest, MeasuresOnlyTheGivenOperationAndFigure) {
  const CommandRun run =
      RunCommand(AddBenchCommand, "bench --self -n 64 -o read -m rate -s 4K -d 8 -b 4 -q 3 --json");
  ASSERT_TRUE(run.outcome) << run.outcome.error().text;
  const auto json = FromText(run.output);
  ASSERT_EQ(json.size(), 1);
  EXPECT_EQ(json[0]["operation"], "read");
  EXPECT_EQ(json[0]["bytes"], 4'096);
  EXPECT_EQ(json[0]["depth"], 8);
  EXPECT_EQ(json[0]["batch"], 4);
  EXPECT_EQ(json[0]["qps"], 3);
}

TEST(BenchCommandTest, PrintsALineForEachMeasurement) {
  const CommandRun run =
      RunCommand(AddBenchCommand, "bench --self -n 32 -o write atomic -m latency");
  ASSERT_TRUE(run.outcome) << run.outcome.error().text;
  EXPECT_EQ(std::ranges::count(run.output, '\n'), 2);
  EXPECT_EQ(run.output.find("write  64 bytes"), 0) << run.output;
}

TEST(BenchCommandTest, RefusesUnknownWordsAndNumbersOutOfRange) {
  for (const char* const line :
       {"bench -o fly", "bench -m speed", "bench -d 0", "bench -q 0", "bench -t -1", "bench -t 0",
        "bench -n 0", "bench -n -1", "bench -s 0", "bench -s 1G"}) {
    EXPECT_FALSE(RunCommand(AddBenchCommand, line).parsed) << line;
  }
}

TEST(BenchCommandTest, RefusesABatchThatIsLargerThanTheDepth) {
  const CommandRun run = RunCommand(AddBenchCommand, "bench --self -d 4 -b 8");
  ASSERT_FALSE(run.outcome);
  EXPECT_EQ(run.outcome.error().exit_code, kMisuse);
}

}  // namespace
}  // namespace verbena::cli
