#include "adapter/keeper.h"

#include <unistd.h>

#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/support/engine_world.h"

namespace verbena::adapter {
namespace {

class KeeperThreads : public EngineWorld {
 protected:
  explicit KeeperThreads(const Options& options = TestOptions()) : EngineWorld(options) {}

  EventFile wake_ = std::move(*EventFile::Open(false));
  EventFile notice_ = std::move(*EventFile::Open(false));
  EventWait waits_{engine_, notice_, wake_, options_.linger};
  Cq cq_{16, nullptr};
};

TEST_F(KeeperThreads, SleepsWhileNothingHappens) {
  Keeper keeper(engine_, waits_, wake_, options_);
  usleep(20'000);
  const uint64_t before = keeper.wake_ups();
  usleep(200'000);
  EXPECT_EQ(keeper.wake_ups(), before);
}

TEST_F(KeeperThreads, ServesWhatArrives) {
  Keeper keeper(engine_, waits_, wake_, options_);
  SendSomething();
  EXPECT_TRUE(Becomes([&] { return Malformed() == 1; }));
}

TEST_F(KeeperThreads, GoesAwayWhileSomebodyPollsAndComesBack) {
  Keeper keeper(engine_, waits_, wake_, options_);
  {
    const std::jthread poller([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) engine_.Progress(cq_);
    });
    EXPECT_TRUE(Becomes([&] {
      SendSomething();
      return keeper.is_away();
    }));
  }
  EXPECT_TRUE(Becomes([&] { return !keeper.is_away(); })) << "nobody polls any more";
}

Options LongPolls() {
  Options options = TestOptions();
  options.poll_recent = options.yield_recent = Milliseconds(400);
  return options;
}

class KeeperLongPollsThreads : public KeeperThreads {
 protected:
  KeeperLongPollsThreads() : KeeperThreads(LongPolls()) {}
  bool Serves(uint64_t packets) {
    return Becomes([&] { return Malformed() == packets; });
  }
};

// As a program does it that polls now and then and looks at its memory for the rest.
TEST_F(KeeperLongPollsThreads, PollsDoNotKeepItAwayOncePacketsHaveWaitedForIt) {
  Keeper keeper(engine_, waits_, wake_, options_);
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

// What it comes for in vain makes it stay away again.
TEST_F(KeeperLongPollsThreads, APollerThatIsQuickerKeepsItAwayAgain) {
  Keeper keeper(engine_, waits_, wake_, options_);
  engine_.Progress(cq_);
  SendSomething();
  ASSERT_TRUE(Serves(1));
  engine_.Yield(Now());
  SendSomething();
  EXPECT_TRUE(Becomes([&] { return keeper.is_away(); })) << "a thread polls without a pause";
}

Options LongAway() {
  Options options = TestOptions();
  options.away_min = options.away_max = options.poll_recent = Seconds(1'000);
  return options;
}

// One poll keeps the keeper away for the rest of the test.
class KeeperLongAwayThreads : public KeeperThreads {
 protected:
  KeeperLongAwayThreads() : KeeperThreads(LongAway()) {}
};

TEST_F(KeeperLongAwayThreads, IsAttentiveAtOnceWhenAskedTo) {
  Keeper keeper(engine_, waits_, wake_, options_);
  engine_.Progress(cq_);
  wake_.Signal();
  EXPECT_TRUE(Becomes([&] { return keeper.is_away(); }));
  keeper.BeAttentive();
  EXPECT_TRUE(Becomes([&] { return !keeper.is_away(); }));
}

TEST_F(KeeperLongAwayThreads, IsToldOfWorkUnlessItIsAway) {
  Keeper keeper(engine_, waits_, wake_, options_);
  const uint64_t before = keeper.wake_ups();
  keeper.Notice();
  EXPECT_TRUE(Becomes([&] { return keeper.wake_ups() > before; }));

  engine_.Progress(cq_);
  wake_.Signal();
  ASSERT_TRUE(Becomes([&] { return keeper.is_away(); }));
  usleep(20'000);
  const uint64_t away = keeper.wake_ups();
  keeper.Notice();
  usleep(20'000);
  EXPECT_EQ(keeper.wake_ups(), away) << "whoever polls finds the work";
}

TEST_F(KeeperThreads, IsWokenByTheAlarm) {
  Keeper keeper(engine_, waits_, wake_, options_);
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
