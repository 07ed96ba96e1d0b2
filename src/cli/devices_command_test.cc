#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/json.h"
#include "tests/support/command_line.h"

namespace verbena::cli {
namespace {

TEST(DevicesCommandTest, JsonHasGidsAndLimits) {
  const CommandRun run = RunCommand(AddDevicesCommand, "devices --json");
  ASSERT_TRUE(run.outcome) << run.outcome.error().text;
  const auto json = FromText(run.output);
  const auto& device = json["devices"][0];
  EXPECT_EQ(device["name"], "verbena0");
  EXPECT_EQ(device["transport"], "RoCE");
  EXPECT_EQ(json["devices"][1]["name"], "verbena_iw0");
  EXPECT_EQ(json["devices"][1]["transport"], "iWARP");
  EXPECT_TRUE(std::ranges::any_of(device["gids"],
                                  [](const auto& gid) { return gid["gid"] == "127.0.0.1"; }));
  EXPECT_GT(device["limits"]["queue pairs"], 0);
  EXPECT_FALSE(json["kernel"].empty());
}

TEST(DevicesCommandTest, TextHasGidsLimitsAndKernelFeatures) {
  const CommandRun run = RunCommand(AddDevicesCommand, "devices");
  ASSERT_TRUE(run.outcome) << run.outcome.error().text;
  for (const char* const word :
       {"verbena0", "verbena_iw0", "127.0.0.1", "queue pairs", "UDP segmentation"}) {
    EXPECT_NE(run.output.find(word), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace verbena::cli
