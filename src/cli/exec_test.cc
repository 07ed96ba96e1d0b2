#include "cli/exec.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

TEST(ExecTest, PassesAllArgumentsAndTheExitCode) {
  EXPECT_EXIT(
      {
        static_cast<void>(Exec({"sh", "-c", "echo \"$0 $1\" >&2; exit 7", "a b", "c"}, ""));
        std::exit(99);
      },
      testing::ExitedWithCode(7), "a b c");
}

TEST(ExecTest, AMissingProgramIs127WithAdvice) {
  const Outcome outcome = Exec({"/no/such/program"}, "install it");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().text,
            "cannot start /no/such/program: No such file or directory; install it");
  EXPECT_EQ(outcome.error().exit_code, kNotFound);
  EXPECT_EQ(Exec({"/no/such/program/in/it"}, "").error().exit_code, kNotFound);
  EXPECT_EQ(Exec({"/dev/null/x"}, "").error().exit_code, kNotFound) << "not a folder";
}

TEST(ExecTest, AFileThatIsNotExecutableIs126) {
  for (const char* const path : {"/", "/dev/null"}) {
    const Outcome outcome = Exec({path}, "install it");
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().exit_code, kNotExecutable);
    EXPECT_EQ(outcome.error().text, std::string("cannot start ") + path + ": Permission denied");
  }
}

TEST(ExecTest, FindsThePathOfThisProgram) {
  EXPECT_TRUE(std::filesystem::exists(ThisProgram("x")));
}

}  // namespace
}  // namespace verbena::cli
