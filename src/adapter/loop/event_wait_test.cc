#include "adapter/loop/event_wait.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "adapter/loop/progress_thread.h"
#include "tests/support/engine_world.h"
#include "tests/support/flooded_fabric.h"

namespace verbena::adapter {
namespace {

// Two queue pairs that are connected to each other, without a progress thread: only the waiter
// makes passes.
class EventWaitThreads : public EngineWorld {
 protected:
  explicit EventWaitThreads(std::unique_ptr<fabric::Fabric> fabric = OpenFabric())
      : EngineWorld(SeededOptions(), RealPages(), std::move(fabric)) {
    const EngineLock lock(engine_);
    a_ = &MakeQp(NumberAfterNext(1), cq_);
    b_ = &MakeQp(a_->number(), cq_);
  }
  ~EventWaitThreads() override {
    const EngineLock lock(engine_);
    engine_.RemoveQp(*a_);
    engine_.RemoveQp(*b_);
  }

  void SendToPeer() {
    cq_.ArmForEvent(queue::CompletionQueue::Wanted::kAll);
    ASSERT_TRUE(b_->receive_queue().Post({}).has_value());
    PostSend(*a_);
    engine_.Kick(*a_);
  }
  // Raises an event as the engine does.
  void Raise(Cq& cq) {
    const EngineLock lock(engine_);
    cq.channel()->Raise(cq);
  }
  // Starts a thread in Wait, and returns once it serves.
  std::thread StartWaiting() {
    std::thread waits([this] { taken_ = waits_.Wait(channel_); });
    EXPECT_TRUE(Becomes([&] { return waits_.is_served(); }));
    return waits;
  }

  CompletionChannel channel_{std::move(*EventFile::Open(true))};
  Cq cq_{16, &channel_};
  EventFile wake_ = std::move(*EventFile::Open(false));
  EventFile notice_ = std::move(*EventFile::Open(false));
  EventWait waits_{engine_, notice_, wake_, DurationOf(options_.spin)};
  QueuePair* a_ = nullptr;
  QueuePair* b_ = nullptr;
  Cq* taken_ = nullptr;
};

TEST_F(EventWaitThreads, AWaiterMakesThePassesItself) {
  std::thread waits = StartWaiting();
  SendSomething();
  EXPECT_TRUE(Becomes([&] { return Malformed() == 1; }));
  SendToPeer();
  waits.join();
  EXPECT_EQ(taken_, &cq_);
  EXPECT_FALSE(waits_.is_served());
  pollfd file{.fd = channel_.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&file, 1, 0), 0) << "the event was taken, wherever it was raised";
}

TEST_F(EventWaitThreads, TimersRunWhileTheWaiterSleeps) {
  {
    const EngineLock lock(engine_);
    engine_.RemoveQp(*b_);
  }
  cq_.ArmForEvent(queue::CompletionQueue::Wanted::kAll);
  PostSend(*a_);
  engine_.Kick(*a_);
  EXPECT_EQ(waits_.Wait(channel_), &cq_) << "retries exceeded";
  const EngineLock lock(engine_);
  b_ = &MakeQp(a_->number(), cq_);
}

TEST_F(EventWaitThreads, AnEarlierEventIsTakenAtOnce) {
  Raise(cq_);
  EXPECT_EQ(waits_.Wait(channel_), &cq_);
  EXPECT_EQ(waits_.serve_count(), 0U);
}

TEST_F(EventWaitThreads, ANonBlockingChannelReturnsEagain) {
  fcntl(channel_.fd(), F_SETFL, O_NONBLOCK);
  errno = 0;
  EXPECT_EQ(waits_.Wait(channel_), nullptr);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(EventWaitThreads, AnEventThatAnotherThreadRaisesWakesIt) {
  std::thread waits = StartWaiting();
  Raise(cq_);
  waits.join();
  EXPECT_EQ(taken_, &cq_);
}

TEST_F(EventWaitThreads, OneWaiterServesAndTheOthersAreWokenByTheirChannel) {
  std::thread first = StartWaiting();
  CompletionChannel other{std::move(*EventFile::Open(true))};
  Cq cq{16, &other};
  Cq* taken = nullptr;
  std::thread second([&] { taken = waits_.Wait(other); });
  usleep(20'000);
  EXPECT_EQ(waits_.serve_count(), 1U);
  EXPECT_FALSE(other.serves_itself());
  EXPECT_TRUE(channel_.serves_itself());
  Raise(cq_);
  first.join();
  EXPECT_TRUE(wake_.TryWait()) << "the progress thread has to serve the second";
  Raise(cq);
  second.join();
  EXPECT_EQ(taken, &cq);
}

TEST_F(EventWaitThreads, ANoticeMakesTheWaiterMakeAPass) {
  std::thread waits = StartWaiting();
  usleep(20'000);
  const uint64_t before = Passes();
  waits_.Notice();
  EXPECT_TRUE(Becomes([&] { return Passes() > before; }));
  Raise(cq_);
  waits.join();
}

TEST_F(EventWaitThreads, TheProgressThreadIsWokenWhenTheServingWaiterLeaves) {
  EXPECT_FALSE(waits_.Relieve()) << "no thread serves";
  std::thread waits = StartWaiting();
  EXPECT_TRUE(waits_.Relieve());
  EXPECT_FALSE(wake_.TryWait());
  Raise(cq_);
  waits.join();
  EXPECT_TRUE(wake_.TryWait());
}

// Peers that send without an end. The flood lasts longer than a test that passes.
class EventWaitFloodThreads : public EventWaitThreads {
 protected:
  EventWaitFloodThreads() : EventWaitThreads(Flooded()) {}

  static std::unique_ptr<fabric::Fabric> Flooded() {
    constexpr fabric::EndpointId kEndpoint(1);
    const uint16_t port = TestEndpoint().ports.PortOf(kEndpoint);
    return std::make_unique<FloodedFabric>(kEndpoint, port, kFloodLasts);
  }
  bool IsFlooded() {
    const uint64_t before = Malformed();
    return Becomes([&] { return Malformed() > before; });
  }

  static constexpr Duration kFloodLasts = Seconds(20);
};

TEST_F(EventWaitFloodThreads, OtherThreadsGetTheEngine) {
  std::thread waits = StartWaiting();
  for (int i = 0; i < 200; ++i) Malformed();
  EXPECT_TRUE(IsFlooded()) << "the lock was not to be had before the end of the flood";
  Raise(cq_);
  waits.join();
}

TEST_F(EventWaitFloodThreads, AnEventThatAnotherThreadRaisesIsTaken) {
  std::thread waits = StartWaiting();
  EXPECT_TRUE(IsFlooded());
  Raise(cq_);
  waits.join();
  EXPECT_EQ(taken_, &cq_);
  const EngineLock lock(engine_);
  EXPECT_TRUE(engine_.Pass()) << "the event was not taken before the end of the flood";
}

// A handler of SIGUSR1 that does nothing, with the flags that the test chooses.
class EventWaitSignalThreads : public EventWaitThreads {
 protected:
  void SetHandler(int flags) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, nullptr);
  }
  ~EventWaitSignalThreads() override { std::signal(SIGUSR1, SIG_DFL); }
};

TEST_F(EventWaitSignalThreads, ASignalHandlerEndsTheWait) {
  SetHandler(0);
  int error = 0;
  std::thread waits([&] {
    taken_ = waits_.Wait(channel_);
    error = errno;
  });
  ASSERT_TRUE(Becomes([&] { return waits_.is_served(); }));
  while (waits_.is_served()) {
    pthread_kill(waits.native_handle(), SIGUSR1);
    usleep(1'000);
  }
  waits.join();
  EXPECT_EQ(taken_, nullptr);
  EXPECT_EQ(error, EINTR);
}

TEST_F(EventWaitSignalThreads, ASignalHandlerWithRestartDoesNotEndTheWait) {
  SetHandler(SA_RESTART);
  std::thread waits = StartWaiting();
  for (int i = 0; i < 5; ++i) {
    pthread_kill(waits.native_handle(), SIGUSR1);
    usleep(2'000);
  }
  EXPECT_TRUE(waits_.is_served());
  Raise(cq_);
  waits.join();
  EXPECT_EQ(taken_, &cq_);
}

TEST_F(EventWaitThreads, ACancelledWaiterLeavesNothingBehind) {
  for (int i = 0; i < 20; ++i) {
    std::thread waits = StartWaiting();
    pthread_cancel(waits.native_handle());
    waits.join();
    EXPECT_FALSE(waits_.is_served());
  }
  std::thread waits = StartWaiting();
  Raise(cq_);
  waits.join();
  EXPECT_EQ(taken_, &cq_);
}

TEST_F(EventWaitThreads, TheProgressThreadSleepsWhileAWaiterServes) {
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  std::thread waits = StartWaiting();
  // The first packets can wake up both threads, until the progress thread finds the packet taken
  // and backs off.
  ASSERT_TRUE(Becomes([&] {
    SendSomething();
    return progress_thread.is_backed_off();
  }));
  usleep(20'000);
  const uint64_t before = progress_thread.wake_ups();
  SendSomething();
  usleep(100'000);
  EXPECT_EQ(progress_thread.wake_ups(), before);
  Raise(cq_);
  waits.join();
  EXPECT_TRUE(Becomes([&] { return !progress_thread.is_backed_off(); }))
      << "no other thread serves now";
  const uint64_t malformed = Malformed();
  SendSomething();
  EXPECT_TRUE(Becomes([&] { return Malformed() > malformed; }));
}

}  // namespace
}  // namespace verbena::adapter
