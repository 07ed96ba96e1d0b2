#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/json.h"
#include "tests/support/command_line.h"

namespace verbena::cli {
namespace {

TEST(PingCommandTest, PrintsTextOrJson) {
  const CommandRun words = RunCommand(AddPingCommand, "ping --self -n 20 -s 100");
  ASSERT_TRUE(words.outcome) << words.outcome.error().text;
  EXPECT_NE(words.output.find("20 messages of 100 bytes"), std::string::npos) << words.output;
  const CommandRun run = RunCommand(AddPingCommand, "ping --self -n 20 --json");
  const auto json = FromText(run.output);
  EXPECT_EQ(json["round_trips"], 20);
  EXPECT_EQ(json["bytes"], 64);
  EXPECT_GT(json["round_trip_us"]["p50"], 0);
}

TEST(PingCommandTest, RefusesUnknownOptionsAndNumbersOutOfRange) {
  for (const char* const line : {"ping --size -1", "ping --size 300000000", "ping --nonsense",
                                 "ping -n 0", "ping -n -1", "ping -p 70000", "ping -p -1"}) {
    EXPECT_FALSE(RunCommand(AddPingCommand, line).parsed) << line;
  }
}

TEST(PingCommandTest, WithoutAServerItFails) {
  const CommandRun run = RunCommand(AddPingCommand, "ping 127.0.0.1 --port 1");
  EXPECT_TRUE(run.parsed);
  EXPECT_FALSE(run.outcome);
}

}  // namespace
}  // namespace verbena::cli
