#include "tools/become.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace verbena::tools {
namespace {

TEST(BecomeTest, RunsWithAllArgumentsAndItsOwnExitCode) {
  EXPECT_EXIT(
      {
        static_cast<void>(Become({"sh", "-c", "echo \"$0 $1\" >&2; exit 7", "a b", "c"}, ""));
        std::exit(99);
      },
      testing::ExitedWithCode(7), "a b c");
}

TEST(BecomeTest, SaysWhatCouldNotBeStartedAndWhatToDo) {
  const Outcome outcome = Become({"/no/such/program"}, "install it");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().text,
            "cannot start /no/such/program: No such file or directory; install it");
}

TEST(BecomeTest, KnowsWhereThisProgramLies) {
  EXPECT_TRUE(std::filesystem::exists(ThisProgram("x")));
}

}  // namespace
}  // namespace verbena::tools
