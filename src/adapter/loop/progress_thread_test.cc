#include "adapter/loop/progress_thread.h"

#include <signal.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "memory/copy/signal_guard.h"
#include "tests/support/engine_world.h"

namespace verbena::adapter {
namespace {

class ProgressThreadThreads : public EngineWorld {
 protected:
  explicit ProgressThreadThreads(const AdapterOptions& options = TestOptions())
      : EngineWorld(options) {}

  EventFile wake_ = std::move(*EventFile::Open(false));
  EventFile notice_ = std::move(*EventFile::Open(false));
  EventWait waits_{engine_, notice_, wake_, DurationOf(options_.spin)};
  Cq cq_{16, nullptr};
};

TEST_F(ProgressThreadThreads, SleepsWhileNothingHappens) {
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  usleep(20'000);
  const uint64_t before = progress_thread.wake_ups();
  usleep(200'000);
  EXPECT_EQ(progress_thread.wake_ups(), before);
}

TEST_F(ProgressThreadThreads, ServesArrivingPackets) {
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  SendSomething();
  EXPECT_TRUE(Becomes([&] { return Malformed() == 1; }));
}

// A program may install handlers of its own at any time.
TEST_F(ProgressThreadThreads, PutsTheHandlersOfGuardedCopiesBack) {
  memory::SignalGuard::Install();
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  for (int round = 0; round < 3; ++round) {
    struct sigaction own = {};
    own.sa_handler = SIG_DFL;
    ASSERT_EQ(sigaction(SIGBUS, &own, nullptr), 0);
    EXPECT_TRUE(Becomes([&] {
      SendSomething();
      struct sigaction now = {};
      sigaction(SIGBUS, nullptr, &now);
      return now.sa_handler != SIG_DFL;
    })) << round;
  }
}

TEST_F(ProgressThreadThreads, BacksOffWhileAThreadPollsAndResumes) {
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  {
    const std::jthread poller([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) engine_.Progress(cq_);
    });
    EXPECT_TRUE(Becomes([&] {
      SendSomething();
      return progress_thread.is_backed_off();
    }));
  }
  EXPECT_TRUE(Becomes([&] { return !progress_thread.is_backed_off(); }))
      << "no thread polls any more";
}

AdapterOptions NoSpin() {
  AdapterOptions options = TestOptions();
  options.spin = std::chrono::microseconds(0);
  return options;
}

class ProgressThreadNoSpinThreads : public ProgressThreadThreads {
 protected:
  ProgressThreadNoSpinThreads() : ProgressThreadThreads(NoSpin()) {}
};

TEST_F(ProgressThreadNoSpinThreads, APacketThatComesAloneTakesOnePass) {
  constexpr uint64_t kPackets = 20;
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  for (uint64_t i = 1; i <= kPackets; ++i) {
    SendSomething();
    ASSERT_TRUE(Becomes([&] { return Malformed() == i; }));
    usleep(1'000);
  }
  EXPECT_LT(Passes(), kPackets * 3 / 2) << "a second pass would find nothing";
}

AdapterOptions LongPolls() {
  AdapterOptions options = TestOptions();
  options.poll_recent = std::chrono::milliseconds(400);
  options.yield_recent = Milliseconds(400);
  return options;
}

class ProgressThreadLongPollsThreads : public ProgressThreadThreads {
 protected:
  ProgressThreadLongPollsThreads() : ProgressThreadThreads(LongPolls()) {}
  bool Serves(uint64_t packets) {
    return Becomes([&] { return Malformed() == packets; });
  }
};

// A program that polls now and then, and otherwise reads its memory until a peer has written it.
TEST_F(ProgressThreadLongPollsThreads, PollsDoNotMakeItBackOffOncePacketsHaveWaitedForIt) {
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  engine_.Progress(cq_);
  const Time first_until = engine_.polled_until();
  SendSomething();
  ASSERT_TRUE(Serves(1));
  EXPECT_GE(Now(), first_until) << "a poller comes first";
  engine_.Progress(cq_);
  SendSomething();
  ASSERT_TRUE(Serves(2));
  EXPECT_LT(Now(), engine_.polled_until()) << "but the last one did not come";
}

// A wake-up that finds no packet makes the progress thread back off again.
TEST_F(ProgressThreadLongPollsThreads, APollerThatIsQuickerMakesItBackOffAgain) {
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  engine_.Progress(cq_);
  SendSomething();
  ASSERT_TRUE(Serves(1));
  engine_.Yield(Now());
  SendSomething();
  EXPECT_TRUE(Becomes([&] { return progress_thread.is_backed_off(); }))
      << "a thread polls without a pause";
}

AdapterOptions LongBackoff() {
  AdapterOptions options = TestOptions();
  options.backoff_min = options.backoff_max = options.poll_recent = std::chrono::seconds(1'000);
  return options;
}

// After one poll the progress thread is backed off for the rest of the test.
class ProgressThreadLongBackoffThreads : public ProgressThreadThreads {
 protected:
  ProgressThreadLongBackoffThreads() : ProgressThreadThreads(LongBackoff()) {}
};

TEST_F(ProgressThreadLongBackoffThreads, IsArmedAtOnceWhenAskedTo) {
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  engine_.Progress(cq_);
  wake_.Signal();
  EXPECT_TRUE(Becomes([&] { return progress_thread.is_backed_off(); }));
  progress_thread.Arm();
  EXPECT_TRUE(Becomes([&] { return !progress_thread.is_backed_off(); }));
}

TEST_F(ProgressThreadLongBackoffThreads, IsNotifiedOfWorkUnlessItHasBackedOff) {
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  const uint64_t before = progress_thread.wake_ups();
  progress_thread.Notice();
  EXPECT_TRUE(Becomes([&] { return progress_thread.wake_ups() > before; }));

  engine_.Progress(cq_);
  wake_.Signal();
  ASSERT_TRUE(Becomes([&] { return progress_thread.is_backed_off(); }));
  usleep(20'000);
  const uint64_t away = progress_thread.wake_ups();
  progress_thread.Notice();
  usleep(20'000);
  EXPECT_EQ(progress_thread.wake_ups(), away) << "the poller finds the work";
}

AdapterOptions SlowChecks() {
  AdapterOptions options = TestOptions();
  options.poll_recent = std::chrono::milliseconds(20);
  options.backoff_min = options.backoff_max = std::chrono::milliseconds(100);
  return options;
}

class ProgressThreadSlowChecksThreads : public ProgressThreadThreads {
 protected:
  ProgressThreadSlowChecksThreads() : ProgressThreadThreads(SlowChecks()) {}
};

// It may have been preempted.
TEST_F(ProgressThreadSlowChecksThreads, APollerThatIsAwayAtACheckHasUntilTheNextOne) {
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  const Time begin = Now();
  ASSERT_TRUE(Becomes([&] {
    engine_.Progress(cq_);
    wake_.Signal();
    return progress_thread.is_backed_off();
  }));
  EXPECT_TRUE(Becomes([&] { return !progress_thread.is_backed_off(); }));
  EXPECT_GE(Now() - begin, 2 * DurationOf(options_.backoff_min));
}

TEST_F(ProgressThreadThreads, IsWokenByTheAlarm) {
  ProgressThread progress_thread(engine_, waits_, wake_, options_);
  usleep(10'000);
  const uint64_t passes = Passes();
  {
    const EngineLock lock(engine_);
    engine_.alarm().WakeBy(Now() + Milliseconds(1));
  }
  EXPECT_TRUE(Becomes([&] { return Passes() > passes; }));
}

}  // namespace
}  // namespace verbena::adapter
