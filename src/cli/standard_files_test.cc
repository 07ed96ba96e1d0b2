#include "cli/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

// Each test runs in a process of its own and ends it, because it changes the standard files.
void ExitAs(bool succeeded) { std::_Exit(succeeded ? 0 : 1); }

TEST(StandardFilesDeathTest, OutputThatIsWrittenIsNoError) {
  EXPECT_EXIT(
      {
        std::fputs("x", stdout);
        ExitAs(FlushOutput());
      },
      testing::ExitedWithCode(0), "");
}

TEST(StandardFilesDeathTest, AFullDiskIsReported) {
  EXPECT_EXIT(
      {
        std::fflush(stdout);
        dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
        std::fputs("x", stdout);
        ExitAs(FlushOutput());
      },
      testing::ExitedWithCode(1), "cannot write to standard output: No space left on device");
}

TEST(StandardFilesDeathTest, AnEarlierFailureIsReported) {
  EXPECT_EXIT(
      {
        std::fflush(stdout);
        dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
        std::fputs("x", stdout);
        std::fflush(stdout);
        ExitAs(FlushOutput());
      },
      testing::ExitedWithCode(1), "cannot write to standard output");
}

TEST(StandardFilesDeathTest, AClosedFileDoesNotBecomeASocket) {
  EXPECT_EXIT(
      {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        OpenStandardFiles();
        const bool is_taken = open("/dev/null", O_WRONLY) > STDERR_FILENO;
        const bool is_refused = write(STDOUT_FILENO, "x", 1) < 0 && errno == EBADF;
        const bool ends_with_this_program = (fcntl(STDOUT_FILENO, F_GETFD) & FD_CLOEXEC) != 0;
        ExitAs(is_taken && is_refused && ends_with_this_program);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace verbena::cli
