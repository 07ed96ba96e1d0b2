#include "ibverbs/objects/open_contexts.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "ibverbs/query/device.h"

namespace verbena::ibverbs {
namespace {

TEST(OpenContextsTest, FindsAContextByItsFile) {
  ibv_context* const a = ibv_open_device(&TheDevice());
  ibv_context* const b = ibv_open_device(&TheDevice());
  const int copy = dup(b->cmd_fd);
  EXPECT_EQ(OpenContexts::Import(copy), &Cast(b));
  EXPECT_EQ(OpenContexts::Import(a->cmd_fd), &Cast(a));
  close(copy);
  const int foreign = memfd_create("foreign", MFD_CLOEXEC);
  EXPECT_EQ(OpenContexts::Import(foreign), nullptr);
  EXPECT_EQ(OpenContexts::Import(-1), nullptr);
  close(foreign);
  for (ibv_context* const context : {a, b, a, b}) EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(OpenContextsTest, AClosedContextIsNotFound) {
  ibv_context* const context = ibv_open_device(&TheDevice());
  const int copy = dup(context->cmd_fd);
  EXPECT_EQ(ibv_close_device(context), 0);
  EXPECT_EQ(OpenContexts::Import(copy), nullptr);
  close(copy);
}

TEST(OpenContextsTest, ContextsShareTheBudgetOfTheProcess) {
  setenv("VERBENA_MEMORY_BUDGET", "64M", 1);
  ibv_context* const first = ibv_open_device(&TheDevice());
  ::testing::internal::CaptureStderr();
  ibv_context* const second = ibv_open_device(&TheDevice());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(Cast(first).handle.options().memory_budget, 64U << 20);
  EXPECT_EQ(Cast(second).handle.options().memory_budget, 64U << 20);
  EXPECT_EQ(Cast(first).handle.port(), Cast(second).handle.port());
  ibv_close_device(first);
  // A second budget is refused: two could wait for each other's pages.
  setenv("VERBENA_MEMORY_BUDGET", "65M", 1);
  EXPECT_EQ(ibv_open_device(&TheDevice()), nullptr);
  EXPECT_EQ(errno, EBUSY);
  ibv_close_device(second);
  ibv_context* const third = ibv_open_device(&TheDevice());
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(Cast(third).handle.options().memory_budget, 65U << 20);
  ibv_close_device(third);
  unsetenv("VERBENA_MEMORY_BUDGET");
}

TEST(OpenContextsTest, CountersArePrintedWhenTheProgramEnds) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    setenv("VERBENA_STATS", "1", 1);
    ibv_close_device(ibv_open_device(&TheDevice()));
    ibv_open_device(&TheDevice());
    ibv_open_device(&TheDevice());
    std::exit(0);
  }
  close(pipe_ends[1]);
  std::string said;
  std::array<char, 256> bytes{};
  for (ssize_t got = 0; (got = read(pipe_ends[0], bytes.data(), bytes.size())) > 0;) {
    said.append(bytes.data(), static_cast<size_t>(got));
  }
  close(pipe_ends[0]);
  waitpid(child, nullptr, 0);
  EXPECT_NE(said.find("verbena: counters:\n"), std::string::npos) << said;
  EXPECT_EQ(said.find("counters:"), said.rfind("counters:")) << "once for all contexts";
}

}  // namespace
}  // namespace verbena::ibverbs
