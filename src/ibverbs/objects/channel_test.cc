#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
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

using testing::VerbsPairTest;

// A queue pair in the error state, whose flushed receive has raised an event of `cq`.
ibv_qp* FlushedQp(testing::VerbsEnd& end, ibv_cq* cq) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = cq;
  attributes.cap = {.max_send_wr = 1,
                    .max_recv_wr = 1,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  attributes.qp_type = IBV_QPT_RC;
  ibv_qp* const qp = ibv_create_qp(end.pd, &attributes);
  EXPECT_EQ(end.ToInit(qp), 0);
  EXPECT_EQ(ibv_req_notify_cq(cq, 0), 0);
  EXPECT_EQ(end.Receive(qp, 0, 8), 0);
  EXPECT_EQ(end.ToState(qp, IBV_QPS_ERR), 0);
  return qp;
}

class ChannelTest : public VerbsPairTest {
 protected:
  void SetUp() override { Connect(); }

  void SendOne(unsigned flags = IBV_SEND_SIGNALED) {
    ibv_sge sge = a.Sge(0, 8);
    ibv_send_wr wr = Request(IBV_WR_SEND, &sge);
    wr.send_flags = flags;
    ASSERT_EQ(b.Receive(qb, 0, 8), 0);
    ASSERT_EQ(a.Post(qa, wr), 0);
  }
  bool IsReadable(int timeout_ms) const {
    pollfd file{.fd = b.channel->fd, .events = POLLIN, .revents = 0};
    return poll(&file, 1, timeout_ms) == 1;
  }
};

TEST_F(ChannelTest, AnEventNamesItsQueueAndItsContext) {
  ASSERT_EQ(ibv_req_notify_cq(b.cq, 0), 0);
  SendOne();
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(b.channel, &cq, &cq_context), 0);
  EXPECT_EQ(cq, b.cq);
  EXPECT_EQ(cq_context, &b);
  ibv_ack_cq_events(cq, 1);
  EXPECT_EQ(b.WaitStatus(), IBV_WC_SUCCESS);
}

TEST_F(ChannelTest, TheFileIsReadableWhileThereIsAnEvent) {
  ASSERT_EQ(ibv_req_notify_cq(b.cq, 0), 0);
  EXPECT_FALSE(IsReadable(0));
  SendOne();
  ASSERT_TRUE(IsReadable(5'000));
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(b.channel, &cq, &cq_context), 0);
  ibv_ack_cq_events(cq, 1);
  EXPECT_FALSE(IsReadable(0));
}

TEST_F(ChannelTest, SolicitedOnlyWaitsForAMessageThatAsksForIt) {
  ASSERT_EQ(ibv_req_notify_cq(b.cq, 1), 0);
  SendOne();
  EXPECT_FALSE(IsReadable(50));
  SendOne(IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
  ASSERT_TRUE(IsReadable(5'000));
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(b.channel, &cq, &cq_context), 0);
  ibv_ack_cq_events(cq, 1);
}

TEST_F(ChannelTest, ANonBlockingFileReturnsEagain) {
  ASSERT_EQ(fcntl(b.channel->fd, F_SETFL, O_NONBLOCK), 0);
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(b.channel, &cq, &cq_context), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(ChannelTest, CannotBeDestroyedWhileAQueueUsesIt) {
  EXPECT_EQ(b.channel->refcnt, 1);
  EXPECT_EQ(ibv_destroy_comp_channel(b.channel), EBUSY);
}

TEST_F(ChannelTest, EventsOfADestroyedQueueAreSkipped) {
  ibv_cq* const other = ibv_create_cq(b.context, 8, nullptr, b.channel, 0);
  ibv_qp* const qp = FlushedQp(b, other);
  ASSERT_TRUE(IsReadable(5'000));
  ASSERT_EQ(ibv_destroy_qp(qp), 0);
  ASSERT_EQ(ibv_destroy_cq(other), 0);
  ASSERT_EQ(ibv_req_notify_cq(b.cq, 0), 0);
  SendOne();
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(b.channel, &cq, &cq_context), 0);
  EXPECT_EQ(cq, b.cq);
  ibv_ack_cq_events(cq, 1);
}

TEST_F(ChannelTest, FailsInAChildOfAFork) {
  const pid_t child = fork();
  if (child == 0) {
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    _exit(ibv_get_cq_event(b.channel, &cq, &cq_context) == -1 && errno != 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ChannelThreadsTest, AQueueEndsWhenItsEventsAreAcknowledged) {
  testing::VerbsEnd end;
  ibv_cq* const cq = ibv_create_cq(end.context, 8, nullptr, end.channel, 0);
  ibv_qp* const qp = FlushedQp(end, cq);
  ibv_cq* of = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(end.channel, &of, &cq_context), 0);
  ASSERT_EQ(ibv_destroy_qp(qp), 0);
  std::atomic<bool> ended = false;
  std::thread ender([&] {
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(ended);
  ibv_ack_cq_events(of, 1);
  ender.join();
  EXPECT_TRUE(ended);
}

// Cancels and joins a thread. REQUIRES: the thread waits for an event, or polls.
void Cancel(std::thread& thread) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(pthread_cancel(thread.native_handle()), 0);
  thread.join();
}

TEST_F(ChannelTest, AThreadThatWaitsForAnEventMayBeCancelled) {
  ASSERT_EQ(ibv_req_notify_cq(b.cq, 0), 0);
  std::thread waits([&] {
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    ibv_get_cq_event(b.channel, &cq, &cq_context);
    ADD_FAILURE() << "there was no event";
  });
  Cancel(waits);
  SendOne();
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(b.channel, &cq, &cq_context), 0);
  ibv_ack_cq_events(cq, 1);
}

// A signal ends the wait: TSan does not see which locks a cancelled thread takes while it unwinds.
TEST_F(ChannelTest, AChannelIsNotDestroyedWhileAThreadWaitsOnIt) {
  ibv_comp_channel* const channel = ibv_create_comp_channel(b.context);
  ASSERT_NE(channel, nullptr);
  struct sigaction interrupts {};
  interrupts.sa_handler = [](int) {};  // without SA_RESTART
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &interrupts, &before), 0);
  std::thread waits([&] {
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(channel, &cq, &cq_context), -1);
    EXPECT_EQ(errno, EINTR);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
  pthread_kill(waits.native_handle(), SIGUSR1);
  waits.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(ChannelTest, AThreadThatWaitsForAnAsynchronousEventMayBeCancelled) {
  std::thread waits([&] {
    ibv_async_event event{};
    ibv_get_async_event(b.context, &event);
    ADD_FAILURE() << "there was no event";
  });
  Cancel(waits);
}

// ibv_poll_cq is no cancellation point, although it makes system calls that are.
TEST_F(ChannelTest, AThreadThatPollsMayBeCancelledBetweenItsPolls) {
  std::atomic<bool> is_inside = false;
  std::thread polls([&] {
    while (true) {
      is_inside = true;
      ibv_wc wc{};
      ibv_poll_cq(b.cq, 1, &wc);
      is_inside = false;
      pthread_testcancel();
    }
  });
  Cancel(polls);
  EXPECT_FALSE(is_inside.load());
  SendOne();
  EXPECT_EQ(b.WaitStatus(), IBV_WC_SUCCESS) << "the adapter goes on";
}

}  // namespace
}  // namespace verbena::ibverbs
