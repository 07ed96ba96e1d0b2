#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/command_line.h"
#include "tools/become.h"
#include "tools/commands.h"

namespace verbena::tools {
namespace {

CommandRun RunRun(const std::string& line) {
  return RunCommand(
      [](Command root, Outcome& outcome) { AddRunCommand(root, ThisProgram(""), outcome); }, line);
}

// Its exit code is 0 if the shell finds the condition true.
void RunsWith(const std::string& options, const std::string& condition) {
  EXPECT_EXIT(static_cast<void>(RunRun("run " + options + " -- test " + condition)),
              testing::ExitedWithCode(0), "")
      << options << " -- " << condition;
}

class RunCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto library = ThisProgram("").parent_path().parent_path() / "lib" / "libibverbs.so.1";
    if (!std::filesystem::exists(library)) GTEST_SKIP() << "libibverbs.so.1 is not built";
  }
};

TEST_F(RunCommandTest, TheProgramHasItsOwnArgumentsAndExitCode) {
  RunsWith("", "-d /");
  EXPECT_EXIT(static_cast<void>(RunRun("run -- test -d /no/such/folder")),
              testing::ExitedWithCode(1), "");
  EXPECT_EXIT(static_cast<void>(RunRun("run -- ls --no-such-option")), testing::ExitedWithCode(2),
              "no-such-option");
}

TEST_F(RunCommandTest, HandsItsOptionsOnInTheEnvironment) {
  const auto environment = [](const std::string& options, const std::string& expected) {
    EXPECT_EXIT(static_cast<void>(RunRun("run " + options + " -- sh -c env>&2")),
                testing::ExitedWithCode(0), expected)
        << options;
  };
  environment("--device-look ib", "VERBENA_DEVICE_LOOK=ib");
  environment("--trace x.pcapng", "VERBENA_TRACE=/.*/x.pcapng");
  environment("--log debug", "VERBENA_LOG=debug");
  environment("--stats", "VERBENA_STATS=1");
  environment("--strict", "VERBENA_STRICT=1");
  environment("--pin", "VERBENA_PIN=1");
  environment("--page-events", "VERBENA_PAGE_EVENTS=1");
  environment("--memory-budget 64M --swap .", "VERBENA_MEMORY_BUDGET=64M");
  environment("--memory-budget 64M --swap x", "VERBENA_SWAP=/.*/x");
  environment("", "LD_LIBRARY_PATH=.*/lib");
}

TEST_F(RunCommandTest, SaysWhichProgramIsNotThere) {
  const CommandRun run = RunRun("run -- no-such-program");
  ASSERT_FALSE(run.outcome);
  EXPECT_NE(run.outcome.error().text.find("no-such-program"), std::string::npos);
}

TEST(RunCommandOptionsTest, RefusesWhatTheLibraryDoesNotKnow) {
  EXPECT_FALSE(RunRun("run --device-look token-ring -- true").parsed);
  EXPECT_FALSE(RunRun("run --log loud -- true").parsed);
  EXPECT_FALSE(RunRun("run").parsed);
  EXPECT_FALSE(RunRun("run --memory-budget lots -- true").parsed);
  EXPECT_FALSE(RunRun("run --memory-budget 1000K -- true").parsed) << "too small";
  EXPECT_FALSE(RunRun("run --memory-budget 1G --pin -- true").parsed);
  EXPECT_FALSE(RunRun("run --memory-budget 1G --swap /no/such/folder/x -- true").parsed);
  EXPECT_FALSE(RunRun("run --swap /tmp -- true").parsed) << "for nothing";
}

TEST(RunCommandOptionsTest, RefusesFilesThatTheLibraryWouldNotWrite) {
  const std::string fifo = testing::TempDir() + "/run_command_test." + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(RunRun("run --trace " + fifo + " -- true").parsed);
  EXPECT_FALSE(RunRun("run --memory-budget 1G --swap " + fifo + " -- true").parsed);
  unlink(fifo.c_str());
  EXPECT_FALSE(RunRun("run --trace /dev/null -- true").parsed);
  EXPECT_FALSE(RunRun("run --trace /no/such/folder/x -- true").parsed);
  EXPECT_FALSE(RunRun("run --trace /tmp -- true").parsed);
}

}  // namespace
}  // namespace verbena::tools
