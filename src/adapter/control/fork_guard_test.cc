#include "adapter/control/fork_guard.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

// The result of fn() in a child of this process.
template <class Fn>
bool InChild(Fn fn) {
  const pid_t child = fork();
  if (child == 0) _exit(fn() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ForkGuard, RecognizesAChild) {
  const ErrorOr<ForkGuard> guard = ForkGuard::Make();
  ASSERT_TRUE(guard.has_value());
  EXPECT_FALSE(guard->is_child());
  EXPECT_TRUE(InChild([&] { return guard->is_child(); }));
  EXPECT_FALSE(guard->is_child());
}

TEST(ForkGuard, AGuardOfTheChildIsNotForkedThere) {
  EXPECT_TRUE(InChild([] {
    const ErrorOr<ForkGuard> guard = ForkGuard::Make();
    return guard.has_value() && !guard->is_child();
  }));
}

}  // namespace
}  // namespace verbena::adapter
