#include "adapter/event_wait.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "adapter/clock.h"
#include "adapter/keeper.h"
#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {

using transport::QpState;
using transport::QpType;

// An engine without a progress thread: what is done is done by the thread that waits. Two queue
// pairs talk to each other by way of the system.
class EventWaitThreads : public testing::Test {
 protected:
  EventWaitThreads() {
    const EngineLock lock(engine_);
    pd_ = *engine_.memory.domains.Allocate(*engine_.memory.consumers.Open({}));
    const wire::QpNumber first = *engine_.qps.NextNumber();
    a_ = &MakeQp(MakeQpNumber(EndpointOf(first), NumberWithin(first) + 1));
    b_ = &MakeQp(a_->number());
  }
  ~EventWaitThreads() override {
    const EngineLock lock(engine_);
    engine_.RemoveQp(*a_);
    engine_.RemoveQp(*b_);
  }

  static std::unique_ptr<fabric::UdpFabric> OpenFabric() {
    fabric::UdpFabricOptions options;
    options.endpoint = TestEndpoint();
    return std::move(*fabric::UdpFabric::Open(options));
  }
  static Options SeededOptions() {
    Options options = TestOptions();
    options.identity_seed = 1;
    return options;
  }

  QueuePair& MakeQp(wire::QpNumber peer) VERBENA_REQUIRES(engine_) {
    const QpSpec spec{.type = QpType::kRc,
                      .pd = pd_,
                      .send_cq = &cq_,
                      .receive_cq = &cq_,
                      .send = {.capacity = 64, .sges_max = 1, .inline_max = 64},
                      .receive = {.capacity = 64, .sges_max = 1}};
    QueuePair& qp = engine_.AddQp(std::make_unique<QueuePair>(
        *engine_.qps.NextNumber(), spec,
        QpSurroundings{.handles = &engine_.handles, .ports = PortsOf(options_)}));
    transport::QpAttributes attributes;
    const AddressVector way{.source = TestIp("127.0.0.1"), .destination = TestIp("127.0.0.1")};
    attributes.path = *engine_.paths.Add(way);
    attributes.remote_qp = peer;
    attributes.timeout = wire::AckTimeout(12);  // 17 ms
    attributes.retry_count = transport::RetryCount(1);
    attributes.rnr_retry = transport::RnrRetryCount(0);
    qp.set_path(way);
    for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      attributes.state = state;
      engine_.ModifyQp(qp, attributes, transport::AttributeMask::kAll);
    }
    return qp;
  }
  void SendSomething() { SendMalformed(std::as_const(engine_).fabric().port()); }
  uint64_t Malformed() {
    const EngineLock lock(engine_);
    return engine_.counters().dropped_for(Drop::kMalformed);
  }
  // A request that fails at the peer, because there is no receive: its timers must run, too.
  void PostSend() {
    cq_.ArmForEvent(queue::CompletionQueue::Wanted::kAll);
    queue::SendRequest request;
    request.wqe.flags.signaled = true;
    ASSERT_TRUE(a_->send_queue().Post(request).has_value());
    engine_.Kick(*a_);
  }
  // As the engine does it.
  void Raise(Cq& cq) {
    const EngineLock lock(engine_);
    cq.channel()->Raise(cq);
  }
  template <class Condition>
  static bool Becomes(Condition condition) {
    for (const Time end = Now() + Seconds(10); Now() < end;) {
      if (condition()) return true;
      usleep(100);
    }
    return false;
  }
  // A thread in Wait, which serves.
  std::thread StartWaiting() {
    std::thread waits([this] { taken_ = waits_.Wait(channel_); });
    EXPECT_TRUE(Becomes([&] { return waits_.is_served(); }));
    return waits;
  }

  Options options_ = SeededOptions();
  AsyncEvents events_{16};
  Pager pager_{1, BestPopulateMethod(), [] {}};
  Engine engine_{options_, OpenFabric(), std::move(*Alarm::Make()), events_, pager_};
  CompletionChannel channel_{std::move(*EventFile::Open(true))};
  Cq cq_{16, &channel_};
  EventFile wake_ = std::move(*EventFile::Open(false));
  EventFile notice_ = std::move(*EventFile::Open(false));
  EventWait waits_{engine_, notice_, wake_, options_.linger};
  memory::PdId pd_;
  QueuePair* a_ = nullptr;
  QueuePair* b_ = nullptr;
  Cq* taken_ = nullptr;
};

TEST_F(EventWaitThreads, AThreadThatWaitsMakesTheProgressItself) {
  std::thread waits = StartWaiting();
  SendSomething();
  EXPECT_TRUE(Becomes([&] { return Malformed() == 1; }));
  PostSend();
  waits.join();
  EXPECT_EQ(taken_, &cq_);
  EXPECT_FALSE(waits_.is_served());
  pollfd file{.fd = channel_.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&file, 1, 0), 0) << "the event was taken, wherever it was raised";
}

TEST_F(EventWaitThreads, TimersOfRequestsRunWhileItSleeps) {
  {
    const EngineLock lock(engine_);
    engine_.RemoveQp(*b_);
  }
  PostSend();
  EXPECT_EQ(waits_.Wait(channel_), &cq_) << "retries exceeded";
  const EngineLock lock(engine_);
  b_ = &MakeQp(a_->number());
}

TEST_F(EventWaitThreads, AnEventOfThePastIsTakenAtOnce) {
  Raise(cq_);
  EXPECT_EQ(waits_.Wait(channel_), &cq_);
  EXPECT_EQ(waits_.turns(), 0U);
}

TEST_F(EventWaitThreads, AChannelThatDoesNotBlockSaysThatThereIsNothing) {
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

TEST_F(EventWaitThreads, OnlyOneOfSeveralServesAndTheOthersAreWokenByTheirChannel) {
  std::thread first = StartWaiting();
  CompletionChannel other{std::move(*EventFile::Open(true))};
  Cq cq{16, &other};
  Cq* taken = nullptr;
  std::thread second([&] { taken = waits_.Wait(other); });
  usleep(20'000);
  EXPECT_EQ(waits_.turns(), 1U);
  EXPECT_FALSE(other.serves_itself());
  EXPECT_TRUE(channel_.serves_itself());
  Raise(cq_);
  first.join();
  EXPECT_TRUE(wake_.TryWait()) << "the progress thread has to serve the second";
  Raise(cq);
  second.join();
  EXPECT_EQ(taken, &cq);
}

TEST_F(EventWaitThreads, ANoticeMakesItMakeAPass) {
  std::thread waits = StartWaiting();
  usleep(20'000);
  const auto passes = [&] {
    const EngineLock lock(engine_);
    return engine_.counters().passes;
  };
  const uint64_t before = passes();
  waits_.Notice();
  EXPECT_TRUE(Becomes([&] { return passes() > before; }));
  Raise(cq_);
  waits.join();
}

TEST_F(EventWaitThreads, TheProgressThreadIsToldWhenTheOneLeavesThatRelievedIt) {
  EXPECT_FALSE(waits_.Relieve()) << "nobody serves";
  std::thread waits = StartWaiting();
  EXPECT_TRUE(waits_.Relieve());
  EXPECT_FALSE(wake_.TryWait());
  Raise(cq_);
  waits.join();
  EXPECT_TRUE(wake_.TryWait());
}

// Handlers that do nothing; they are set as the test wants them.
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

TEST_F(EventWaitSignalThreads, AHandlerEndsTheWaitAsItEndsARead) {
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

TEST_F(EventWaitSignalThreads, AHandlerWithRestartDoesNot) {
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

TEST_F(EventWaitThreads, AThreadThatIsCancelledLeavesNothingBehind) {
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

TEST_F(EventWaitThreads, WhileItSleepsTheProgressThreadDoesNotWake) {
  Keeper keeper(engine_, waits_, wake_, options_);
  std::thread waits = StartWaiting();
  // The first packets may wake both, until one finds that it came in vain.
  ASSERT_TRUE(Becomes([&] {
    SendSomething();
    return keeper.is_away();
  }));
  usleep(20'000);
  const uint64_t before = keeper.wake_ups();
  SendSomething();
  usleep(100'000);
  EXPECT_EQ(keeper.wake_ups(), before);
  Raise(cq_);
  waits.join();
  EXPECT_TRUE(Becomes([&] { return !keeper.is_away(); })) << "nobody else is there now";
  const uint64_t malformed = Malformed();
  SendSomething();
  EXPECT_TRUE(Becomes([&] { return Malformed() > malformed; }));
}

}  // namespace
}  // namespace verbena::adapter
