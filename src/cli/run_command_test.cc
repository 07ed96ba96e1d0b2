#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/exec.h"
#include "tests/support/command_line.h"

namespace verbena::cli {
namespace {

CommandRun RunRun(const std::string& line) {
  return RunCommand(
      [](Command root, Outcome& outcome) { AddRunCommand(root, ThisProgram(""), outcome); }, line);
}

// Runs test(1), which exits with 0 if the condition is true.
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

TEST_F(RunCommandTest, PassesItsOptionsInTheEnvironment) {
  const auto environment = [](const std::string& options, const std::string& expected) {
    EXPECT_EXIT(static_cast<void>(RunRun("run " + options + " -- sh -c env>&2")),
                testing::ExitedWithCode(0), expected)
        << options;
  };
  environment("--link-layer ib", "VERBENA_LINK_LAYER=ib");
  environment("--transport iwarp", "VERBENA_TRANSPORT=iwarp");
  environment("--transport roce,iwarp", "VERBENA_TRANSPORT=roce,iwarp");
  environment("--transport iwarp-sctp", "VERBENA_TRANSPORT=iwarp-sctp");
  environment("--transport iwarp-sctp,roce", "VERBENA_TRANSPORT=iwarp-sctp,roce");
  environment("--transport iwarp --mpa-revision 1", "VERBENA_MPA_REVISION=1");
  environment("--transport iwarp --mpa-crc off", "VERBENA_MPA_CRC=off");
  environment("--trace x.pcapng", "VERBENA_TRACE=/.*/x.pcapng");
  environment("--log debug", "VERBENA_LOG=debug");
  environment("--stats", "VERBENA_STATS=1");
  environment("--strict", "VERBENA_STRICT=1");
  environment("--pin", "VERBENA_PIN=1");
  environment("--page-events", "VERBENA_PAGE_EVENTS=1");
  environment("--windows-only", "VERBENA_WINDOWS_ONLY=1");
  environment("--one-touch-windows", "VERBENA_ONE_TOUCH_WINDOWS=1");
  environment("--cache", "VERBENA_CACHE=1");
  environment("--cache --cache-bytes 64M", "VERBENA_CACHE=64M");
  environment("--memory-budget 64M --swap .", "VERBENA_MEMORY_BUDGET=64M");
  environment("--memory-budget 64M --swap .", "VERBENA_SWAP=/");
  environment("", "LD_LIBRARY_PATH=.*/lib");
}

class RunDeviceFilesTest : public RunCommandTest {
 protected:
  void SetUp() override {
    RunCommandTest::SetUp();
    const auto lib = ThisProgram("").parent_path().parent_path() / "lib";
    if (!std::filesystem::exists(lib / "libverbena-files.so")) {
      GTEST_SKIP() << "libverbena-files.so is not built";
    }
    setenv("XDG_RUNTIME_DIR", ::testing::TempDir().c_str(), 1);
  }
  void TearDown() override {
    for (const char* const name :
         {"XDG_RUNTIME_DIR", "VERBENA_DEVICE_FILES", "VERBENA_DEVICE_TREE", "LD_PRELOAD"}) {
      unsetenv(name);
    }
  }
  static constexpr const char* kGuid = "-s /sys/class/infiniband/verbena0/node_guid";
};

TEST_F(RunDeviceFilesTest, TheProgramFindsTheDeviceInSysAndDev) {
  RunsWith("", kGuid);
  RunsWith("", "-c /dev/infiniband/uverbs0");
  RunsWith("--device-files on", kGuid);
}

TEST_F(RunDeviceFilesTest, WithDeviceFilesOffTheProgramFindsNoDevice) {
  const bool has_real_one = std::filesystem::exists("/sys/class/infiniband");
  if (has_real_one) GTEST_SKIP() << "this machine has a device of its own";
  RunsWith("--device-files off", std::string("! ") + kGuid);
  setenv("VERBENA_DEVICE_FILES", "off", 1);
  RunsWith("", std::string("! ") + kGuid);
  RunsWith("--device-files on", kGuid);
}

TEST_F(RunDeviceFilesTest, OffHidesTheFilesOfAnOuterRun) {
  setenv("VERBENA_DEVICE_TREE", "/tmp", 1);
  EXPECT_EXIT(static_cast<void>(RunRun("run --device-files off -- printenv VERBENA_DEVICE_TREE")),
              testing::ExitedWithCode(1), "");
}

TEST_F(RunDeviceFilesTest, IsAppendedToLdPreload) {
  const auto environment = [](const std::string& expected) {
    EXPECT_EXIT(static_cast<void>(RunRun("run -- sh -c env>&2")), testing::ExitedWithCode(0),
                expected);
  };
  environment("LD_PRELOAD=[^:]*/libverbena-files.so\n");
  setenv("LD_PRELOAD", "libm.so.6", 1);
  environment("LD_PRELOAD=libm.so.6:[^:]*/libverbena-files.so\n");
}

TEST_F(RunDeviceFilesTest, AProgramRunsWithoutFilesThatCannotBeWritten) {
  setenv("XDG_RUNTIME_DIR", "/proc/self", 1);  // owned by this user, and not writable
  EXPECT_EXIT(static_cast<void>(RunRun("run -- ls --no-such-option")), testing::ExitedWithCode(2),
              "");
}

TEST_F(RunCommandTest, AnErrorNamesTheProgramThatIsMissing) {
  const CommandRun run = RunRun("run -- no-such-program");
  ASSERT_FALSE(run.outcome);
  EXPECT_NE(run.outcome.error().text.find("no-such-program"), std::string::npos);
}

TEST(RunCommandOptionsTest, RefusesUnknownValues) {
  EXPECT_FALSE(RunRun("run --link-layer token-ring -- true").parsed);
  EXPECT_FALSE(RunRun("run --transport carrier-pigeon -- true").parsed);
  EXPECT_FALSE(RunRun("run --transport iwarp,iwarp -- true").parsed);
  EXPECT_FALSE(RunRun("run --transport iwarp --link-layer ib -- true").parsed);
  EXPECT_FALSE(RunRun("run --log loud -- true").parsed);
  EXPECT_FALSE(RunRun("run --device-files some -- true").parsed);
  EXPECT_FALSE(RunRun("run").parsed);
  EXPECT_FALSE(RunRun("run --memory-budget lots -- true").parsed);
  EXPECT_FALSE(RunRun("run --memory-budget 1000K -- true").parsed) << "too small";
  EXPECT_FALSE(RunRun("run --memory-budget 1G --pin -- true").parsed);
  EXPECT_FALSE(RunRun("run --memory-budget 1G --swap /no/such/folder/x -- true").parsed);
}

TEST(RunCommandOptionsTest, ASwapFileIsForABudgetOrAGuest) {
  const CommandRun run = RunRun("run --swap /tmp -- no-such-program");
  ASSERT_FALSE(run.outcome);
  EXPECT_EQ(run.outcome.error().exit_code, kMisuse);
  EXPECT_EQ(run.outcome.error().text, "--swap needs --memory-budget or --guest");
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
}  // namespace verbena::cli
