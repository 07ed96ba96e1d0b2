#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "ibverbs/objects/objects.h"
#include "ibverbs/query/device.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

TEST(ContextTest, HasTheLayoutThatProgramsExpect) {
  ibv_context* const context = ibv_open_device(&TheDevice());
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(context->device, &TheDevice());
  EXPECT_EQ(context->num_comp_vectors, 1);
  EXPECT_GE(context->async_fd, 0);
  EXPECT_GE(context->cmd_fd, 0);
  verbs_context* const extended = verbs_get_ctx(context);
  ASSERT_NE(extended, nullptr);
  EXPECT_EQ(extended->sz, sizeof(verbs_context));
  EXPECT_EQ(static_cast<void*>(extended), static_cast<verbs_context*>(&Cast(context)));
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(ContextTest, ThePaddingBeforeItIsZero) {
  testing::VerbsEnd end;
  const auto* const front = reinterpret_cast<const std::byte*>(verbs_get_ctx(end.context));
  EXPECT_TRUE(std::all_of(front - 1'024, front, [](std::byte b) { return b == std::byte{}; }));
}

TEST(ContextTest, TheEventFileIsNotReadableAndTheCommandFileExists) {
  testing::VerbsEnd end;
  pollfd file{.fd = end.context->async_fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&file, 1, 0), 0);
  EXPECT_NE(end.context->async_fd, end.context->cmd_fd);
}

TEST(ContextTest, TwoContextsShareAnAdapterButNoFiles) {
  testing::VerbsEnd a;
  testing::VerbsEnd b;
  EXPECT_NE(a.context, b.context);
  EXPECT_NE(a.context->async_fd, b.context->async_fd);
  EXPECT_NE(a.context->cmd_fd, b.context->cmd_fd);
  EXPECT_EQ(Cast(a.context).handle.port(), Cast(b.context).handle.port());
  EXPECT_NE(a.MakeQp()->qp_num, b.MakeQp()->qp_num);
}

TEST(ContextTest, AForkedChildOpensItsOwn) {
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

// As the kernel does for a driver: after the close, the peer of a queue pair that was not destroyed
// cannot reach the memory any more, which may have another owner.
TEST(ContextTest, ClosingDestroysTheRemainingObjects) {
  testing::VerbsEnd peer;
  ibv_context* const context = ibv_open_device(&TheDevice());
  static std::array<std::byte, 64> bytes{};
  // The C structures leak, since the program does not free them: static, so that the leak checker
  // finds a pointer to each.
  static ibv_pd* const pd = ibv_alloc_pd(context);
  static ibv_cq* const cq = ibv_create_cq(context, 4, nullptr, nullptr, 0);
  static ibv_mr* const mr =
      ibv_reg_mr(pd, bytes.data(), bytes.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ibv_qp_init_attr wish{};
  wish.send_cq = wish.recv_cq = cq;
  wish.cap.max_send_wr = wish.cap.max_recv_wr = 1;
  wish.qp_type = IBV_QPT_RC;
  static ibv_qp* const qp = ibv_create_qp(pd, &wish);
  ibv_qp* const peer_qp = peer.MakeQp();
  peer.Start(qp, peer_qp->qp_num);
  peer.Start(peer_qp, qp->qp_num);
  peer.Fill(0, "ab");
  ibv_sge sge = peer.Sge(0, 1);
  ibv_send_wr write{};
  write.sg_list = &sge;
  write.num_sge = 1;
  write.opcode = IBV_WR_RDMA_WRITE;
  write.send_flags = IBV_SEND_SIGNALED;
  write.wr.rdma = {.remote_addr = reinterpret_cast<uint64_t>(bytes.data()), .rkey = mr->rkey};
  ASSERT_EQ(peer.Post(peer_qp, write), 0);
  ASSERT_EQ(peer.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(bytes[0], std::byte{'a'});
  const int events = context->async_fd;
  EXPECT_EQ(ibv_close_device(context), 0);
  EXPECT_EQ(fcntl(events, F_GETFD), -1);
  sge = peer.Sge(1, 1);
  ASSERT_EQ(peer.Post(peer_qp, write), 0);
  EXPECT_EQ(peer.WaitStatus(), IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(bytes[0], std::byte{'a'});
}

// While it lives, the process can open only `spare` more descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t spare) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = dup(STDERR_FILENO);
    close(lowest_free);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(lowest_free) + spare;
    setrlimit(RLIMIT_NOFILE, &few);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// Wherever descriptors run out: at the context's own files, or at those of the adapter.
TEST(ContextTest, OpeningWithoutDescriptorsFailsWithEmfile) {
  ::testing::internal::CaptureStderr();
  rlim_t spare = 0;
  for (; spare < 64; ++spare) {
    const FewDescriptors few(spare);
    ibv_context* const context = ibv_open_device(&TheDevice());
    if (context != nullptr) {
      EXPECT_EQ(ibv_close_device(context), 0);
      break;
    }
    EXPECT_EQ(errno, EMFILE) << spare;
  }
  EXPECT_GT(spare, 2U);
  EXPECT_LT(spare, 64U);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("Too many open files"),
            std::string::npos);
}

TEST(ContextTest, InStrictModeATakenPortIsAnAddressInUse) {
  testing::VerbsEnd holder;
  const pid_t child = fork();
  if (child == 0) {
    setenv("VERBENA_STRICT", "1", 1);
    setenv("VERBENA_LOG", "error", 1);
    ibv_context* const context = ibv_open_device(&TheDevice());
    const bool first_port_is_ours = Cast(holder.context).handle.endpoint() == 0;
    _exit(!first_port_is_ours || (context == nullptr && errno == EADDRINUSE) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// Each sends a message to the next.
TEST(ContextTest, ThreeHundredContextsAreUsable) {
  constexpr size_t kContexts = 300;
  std::deque<testing::VerbsEnd> ends;
  while (ends.size() < kContexts) ends.emplace_back();
  for (size_t i = 0; i < kContexts; ++i) {
    testing::VerbsEnd& from = ends[i];
    testing::VerbsEnd& to = ends[(i + 1) % kContexts];
    ASSERT_EQ(Cast(from.context).handle.port(), Cast(to.context).handle.port());
    ibv_qp* const qp_from = from.MakeQp();
    ibv_qp* const qp_to = to.MakeQp();
    from.Start(qp_from, qp_to->qp_num);
    to.Start(qp_to, qp_from->qp_num);
    from.Fill(0, "hello");
    ASSERT_EQ(to.Receive(qp_to, 64, 5), 0);
    ibv_sge sge = from.Sge(0, 5);
    ibv_send_wr send{};
    send.sg_list = &sge;
    send.num_sge = 1;
    send.opcode = IBV_WR_SEND;
    send.send_flags = IBV_SEND_SIGNALED;
    ASSERT_EQ(from.Post(qp_from, send), 0);
    ASSERT_EQ(from.WaitStatus(), IBV_WC_SUCCESS);
    ASSERT_EQ(to.WaitStatus(), IBV_WC_SUCCESS);
    EXPECT_EQ(to.Text(64, 5), "hello");
  }
}

}  // namespace
}  // namespace verbena::ibverbs
