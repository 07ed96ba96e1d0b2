#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include <gtest/gtest.h>

#include "ibverbs/device.h"
#include "ibverbs/objects.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

TEST(ContextTest, IsAsProgramsLookForIt) {
  ibv_context* const context = ibv_open_device(&TheDevice());
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(context->device, &TheDevice());
  EXPECT_EQ(context->num_comp_vectors, 1);
  EXPECT_GE(context->async_fd, 0);
  EXPECT_GE(context->cmd_fd, 0);
  verbs_context* const extended = verbs_get_ctx(context);
  ASSERT_NE(extended, nullptr);
  EXPECT_EQ(extended->sz, sizeof(verbs_context));
  EXPECT_EQ(static_cast<void*>(extended), static_cast<verbs_context*>(&Own(context)));
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(ContextTest, InFrontOfItAreZeros) {
  testing::VerbsEnd end;
  const auto* const front = reinterpret_cast<const std::byte*>(verbs_get_ctx(end.context));
  EXPECT_TRUE(std::all_of(front - 1'024, front, [](std::byte b) { return b == std::byte{}; }));
}

TEST(ContextTest, TheEventFileIsQuietAndTheCommandFileOurs) {
  testing::VerbsEnd end;
  pollfd file{.fd = end.context->async_fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&file, 1, 0), 0);
  EXPECT_NE(end.context->async_fd, end.context->cmd_fd);
}

TEST(ContextTest, EachIsADeviceOfItsOwn) {
  testing::VerbsEnd a;
  testing::VerbsEnd b;
  EXPECT_NE(a.context, b.context);
  EXPECT_NE(a.MakeQp()->qp_num, b.MakeQp()->qp_num);
}

TEST(ContextTest, AChildOpensItAnew) {
  testing::VerbsEnd parent;
  const pid_t child = fork();
  if (child == 0) {
    ibv_context* const context = ibv_open_device(&TheDevice());
    const bool ok = context != nullptr && ibv_alloc_pd(context) != nullptr &&
                    ibv_alloc_pd(parent.context) == nullptr;
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace verbena::ibverbs
