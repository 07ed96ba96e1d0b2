#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "tests/support/command_line.h"

namespace verbena::cli {
namespace {

CommandRun RunSim(const std::filesystem::path& simulator, const std::string& line) {
  return RunCommand(
      [&](Command root, Outcome& outcome) { AddSimCommand(root, simulator, outcome); }, line);
}

TEST(SimCommandTest, WithoutTheSimulatorTheErrorSaysHowToBuildIt) {
  const CommandRun run = RunSim("/nowhere/verbena-sim", "sim --seed 1");
  ASSERT_FALSE(run.outcome);
  EXPECT_NE(run.outcome.error().text.find("/nowhere/verbena-sim"), std::string::npos);
}

TEST(SimCommandTest, ExecutesTheSimulatorWithAllArguments) {
  const auto simulator = std::filesystem::path(testing::TempDir()) / "sim_command_test.sh";
  std::ofstream(simulator) << "#!/bin/sh\necho \"got $*\" >&2\nexit 3\n";
  std::filesystem::permissions(simulator, std::filesystem::perms::owner_all);
  EXPECT_EXIT(static_cast<void>(RunSim(simulator, "sim --seeds 1..9 --help")),
              testing::ExitedWithCode(3), "got --seeds 1..9 --help");
  std::filesystem::remove(simulator);
}

}  // namespace
}  // namespace verbena::cli
