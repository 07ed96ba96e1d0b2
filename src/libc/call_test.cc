#include "libc/call.h"

#include <unistd.h>

#include <gtest/gtest.h>

// Interposes a function of the C library, as a preloaded library does.
extern "C" int dup(int) noexcept { return -7; }

namespace verbena::libc {
namespace {

TEST(Call, ReachesTheCLibraryDespiteAnInterposedFunction) {
  static constinit Call<int(int)> call("dup");
  EXPECT_EQ(dup(STDERR_FILENO), -7);
  const int copy = call(STDERR_FILENO);
  EXPECT_GE(copy, 0);
  EXPECT_EQ(close(copy), 0);
  EXPECT_EQ(call(-1), -1);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace verbena::libc
