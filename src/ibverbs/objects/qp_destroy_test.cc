#include <fcntl.h>
#include <infiniband/verbs.h>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

// A library can wait for events on a thread of its own while another thread destroys a queue pair.
// Here the event is IBV_EVENT_QP_LAST_WQE_REACHED, because programs move a queue pair to the error
// state before they destroy it.
TEST(QpDestroyThreadsTest, AnEventMayBeReturnedWhileItsQueuePairIsDestroyed) {
  testing::VerbsEnd end;
  ibv_srq_init_attr wish{};
  wish.attr = {.max_wr = 16, .max_sge = 1, .srq_limit = 0};
  ibv_srq* const srq = ibv_create_srq(end.pd, &wish);
  ASSERT_NE(srq, nullptr);
  const int flags = fcntl(end.context->async_fd, F_GETFL);
  ASSERT_EQ(fcntl(end.context->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      ibv_async_event event{};
      if (ibv_get_async_event(end.context, &event) == 0) ibv_ack_async_event(&event);
    }
  });
  for (int i = 0; i < 200; ++i) {
    ibv_qp* const qp = end.MakeQp({.srq = srq});
    ASSERT_NE(qp, nullptr);
    end.Start(qp, qp->qp_num);
    EXPECT_EQ(testing::VerbsEnd::ToState(qp, IBV_QPS_ERR), 0);
    EXPECT_EQ(end.EndQp(qp), 0);
  }
  done = true;
  reader.join();
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
