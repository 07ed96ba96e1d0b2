#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

TEST(ForkTest, ForkInitSucceeds) {
  EXPECT_EQ(ibv_fork_init(), 0);
  EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

class ForkedTest : public testing::VerbsPairTest {};

// A page that the parent writes after the fork is copied, and the adapter must read the copy.
TEST_F(ForkedTest, TheParentSendsBytesWrittenAfterTheFork) {
  Connect();
  a.Fill(0, "before");
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  a.Fill(0, "after!");
  ibv_sge sge = a.Sge(0, 6);
  ibv_send_wr write = Request(IBV_WR_RDMA_WRITE, &sge);
  EXPECT_EQ(a.Post(qa, write), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(0, 6), "after!");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace verbena::ibverbs
