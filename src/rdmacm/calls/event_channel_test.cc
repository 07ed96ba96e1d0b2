#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::rdmacm {
namespace {

using testing::CmEnd;

void PostAnEvent(rdma_cm_id* id) {
  sockaddr_storage address = testing::LoopbackAddress(AF_INET, 7174);
  ASSERT_EQ(rdma_resolve_addr(id, nullptr, testing::AsSockaddr(address), 1000), 0);
}

TEST(EventChannelTest, TheDescriptorIsReadableWhileThereIsAnEvent) {
  CmEnd end;
  EXPECT_FALSE(end.HasEvent());
  PostAnEvent(end.MakeId());
  EXPECT_TRUE(end.HasEvent());
  end.Next(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_FALSE(end.HasEvent());
}

TEST(EventChannelTest, ANonBlockingDescriptorReturnsEagain) {
  CmEnd end;
  ASSERT_EQ(fcntl(end.channel->fd, F_SETFL, fcntl(end.channel->fd, F_GETFL) | O_NONBLOCK), 0);
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(rdma_get_cm_event(end.channel, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
  PostAnEvent(end.MakeId());
  end.Next(RDMA_CM_EVENT_ADDR_RESOLVED);
}

TEST(EventChannelTest, NullArgumentsAreRefused) {
  CmEnd end;
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(rdma_get_cm_event(nullptr, &event), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_get_cm_event(end.channel, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_ack_cm_event(nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(EventChannelTest, AForkedChildGetsAnErrorAndDoesNotHang) {
  CmEnd end;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    rdma_cm_event* event = nullptr;
    _exit(rdma_get_cm_event(end.channel, &event) == -1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(EventChannelThreads, AWaitingThreadIsWokenUp) {
  CmEnd end;
  rdma_cm_event* event = nullptr;
  std::thread waiter([&] { EXPECT_EQ(rdma_get_cm_event(end.channel, &event), 0); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  rdma_cm_id* const id = end.MakeId();
  PostAnEvent(id);
  waiter.join();
  EXPECT_EQ(event->id, id);
  EXPECT_EQ(rdma_ack_cm_event(event), 0);
}

TEST(EventChannelThreads, AWaitingThreadCanBeCancelled) {
  CmEnd end;
  pthread_t waiter{};
  const auto wait = [](void* channel) -> void* {
    rdma_cm_event* event = nullptr;
    rdma_get_cm_event(static_cast<rdma_event_channel*>(channel), &event);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&waiter, nullptr, wait, end.channel), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(pthread_cancel(waiter), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(waiter, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
}

// Returns whether the thread ends by itself within a moment; cancels it otherwise.
bool EndsByItself(pthread_t waiter) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  void* result = nullptr;
  if (pthread_tryjoin_np(waiter, &result) == 0) return true;
  EXPECT_EQ(pthread_cancel(waiter), 0);
  EXPECT_EQ(pthread_join(waiter, &result), 0);
  return false;
}

TEST(EventChannelThreads, AThreadWaitsOnWhenItsChannelIsDestroyed) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP), 0);
  pthread_t waiter{};
  const auto wait = [](void* of) -> void* {
    rdma_cm_event* event = nullptr;
    rdma_get_cm_event(static_cast<rdma_event_channel*>(of), &event);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&waiter, nullptr, wait, channel), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(rdma_destroy_id(id), 0);
  rdma_destroy_event_channel(channel);
  CmEnd other;  // its events make the waiting thread run
  PostAnEvent(other.MakeId());
  other.Next(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_FALSE(EndsByItself(waiter));
}

}  // namespace
}  // namespace verbena::rdmacm
