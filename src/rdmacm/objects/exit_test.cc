#include <rdma/rdma_cma.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::rdmacm {
namespace {

TEST(ExitTest, ThePeerGetsADisconnectEventWhenAProcessExits) {
  testing::CmEnd server;
  rdma_cm_id* const listener = server.Listen();
  const pid_t child = fork();
  if (child == 0) {
    auto& client = *new testing::CmEnd;
    rdma_cm_id* const active = client.Resolve(listener);
    testing::MakeQp(active);
    if (rdma_connect(active, nullptr) != 0) _exit(1);
    client.Next(RDMA_CM_EVENT_ESTABLISHED);
    std::exit(0);  // without a rdma_disconnect
  }
  rdma_cm_id* const passive = server.Own(server.Next(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  testing::MakeQp(passive);
  ASSERT_EQ(rdma_accept(passive, nullptr), 0);
  server.Next(RDMA_CM_EVENT_ESTABLISHED);
  server.Next(RDMA_CM_EVENT_DISCONNECTED);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace verbena::rdmacm
