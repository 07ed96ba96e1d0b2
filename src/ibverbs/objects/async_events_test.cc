#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

class AsyncEventsTest : public testing::VerbsPairTest {
 protected:
  void SetUp() override {
    const int file = b.context->async_fd;
    ASSERT_EQ(fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK), 0);
  }

  // The next event at b. An empty event, and a test failure, if none comes within 5 s.
  ibv_async_event Wait() {
    pollfd file{.fd = b.context->async_fd, .events = POLLIN, .revents = 0};
    ibv_async_event event{};
    EXPECT_EQ(poll(&file, 1, 5'000), 1);
    EXPECT_EQ(ibv_get_async_event(b.context, &event), 0);
    return event;
  }
  // A write that b must refuse.
  void WriteToUnregisteredMemory() {
    ibv_sge sge = a.Sge(0, 8);
    ibv_send_wr write = Request(IBV_WR_RDMA_WRITE, &sge);
    write.wr.rdma.rkey ^= 1;
    ASSERT_EQ(a.Post(qa, write), 0);
    EXPECT_EQ(a.WaitStatus(), IBV_WC_REM_ACCESS_ERR);
  }
};

TEST_F(AsyncEventsTest, WithoutAnEventANonBlockingReadFails) {
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(b.context, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(AsyncEventsTest, TheEventOfAQueuePairHasItsPointerAndUpdatesItsState) {
  Connect();
  WriteToUnregisteredMemory();
  ibv_async_event event = Wait();
  ASSERT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(event.element.qp, qb);
  EXPECT_EQ(qb->state, IBV_QPS_ERR);
  ibv_ack_async_event(&event);
}

// The two contexts share an adapter.
TEST_F(AsyncEventsTest, EventsGoOnlyToTheContextOfTheQueuePair) {
  Connect();
  WriteToUnregisteredMemory();
  ibv_async_event event = Wait();
  EXPECT_EQ(event.element.qp, qb);
  ibv_ack_async_event(&event);
  pollfd file{.fd = a.context->async_fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&file, 1, 0), 0);
}

TEST_F(AsyncEventsTest, FailsInAChildOfAFork) {
  const pid_t child = fork();
  if (child == 0) {
    ibv_async_event event{};
    _exit(ibv_get_async_event(a.context, &event) == -1 && errno != 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(AsyncEventsTest, AQueuePairWaitsForItsAcknowledgement) {
  Connect();
  WriteToUnregisteredMemory();
  ibv_async_event event = Wait();
  ASSERT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
  std::atomic<bool> ended = false;
  std::thread ender([&] {
    EXPECT_EQ(b.EndQp(qb), 0);
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(ended);
  ibv_ack_async_event(&event);
  ender.join();
  EXPECT_TRUE(ended);
}

TEST_F(AsyncEventsTest, EventsOfADestroyedQueuePairAreDropped) {
  Connect();
  WriteToUnregisteredMemory();
  pollfd file{.fd = b.context->async_fd, .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&file, 1, 5'000), 1);
  EXPECT_EQ(b.EndQp(qb), 0);
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(b.context, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(AsyncEventsTest, TheLimitEventHasTheSharedReceiveQueue) {
  ibv_srq_init_attr made{};
  made.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  ibv_srq* const srq = ibv_create_srq(b.pd, &made);
  ASSERT_NE(srq, nullptr);
  qa = a.MakeQp();
  qb = b.MakeQp({.srq = srq});
  a.Start(qa, qb->qp_num);
  b.Start(qb, qa->qp_num);
  ibv_sge sge = b.Sge(0, 64);
  ibv_recv_wr receive{.wr_id = 1, .next = nullptr, .sg_list = &sge, .num_sge = 1};
  ibv_recv_wr* refused = nullptr;
  for (int i = 0; i < 2; ++i) ASSERT_EQ(ibv_post_srq_recv(srq, &receive, &refused), 0);
  ibv_srq_attr limit{.max_wr = 0, .max_sge = 0, .srq_limit = 2};
  ASSERT_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
  ibv_sge from = a.Sge(0, 8);
  ibv_send_wr send = Request(IBV_WR_SEND, &from);
  ASSERT_EQ(a.Post(qa, send), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  ibv_async_event event = Wait();
  ASSERT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, srq);
  ibv_ack_async_event(&event);
  EXPECT_EQ(b.EndQp(qb), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
