#include "adapter/loop/engine.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/support/engine_world.h"

namespace verbena::adapter {
namespace {

AdapterOptions LongPolls() {
  AdapterOptions options = TestOptions();
  options.identity_seed = 1;
  options.poll_recent = std::chrono::seconds(1'000);  // however slow the machine is
  return options;
}

// No other thread makes passes. Two queue pairs are connected to each other.
class EngineTest : public EngineWorld {
 protected:
  explicit EngineTest(const AdapterOptions& options = LongPolls()) : EngineWorld(options) {
    const EngineLock lock(engine_);
    a_ = &MakeQp(NumberAfterNext(1));
    b_ = &MakeQp(a_->number());
    a_number_ = a_->number();
  }
  ~EngineTest() override {
    const EngineLock lock(engine_);
    if (engine_.qps.Find(a_number_) != nullptr) engine_.RemoveQp(*a_);
    engine_.RemoveQp(*b_);
  }

  QueuePair& MakeQp(QpNumber peer) VERBENA_REQUIRES(engine_) {
    return EngineWorld::MakeQp(peer, cq_);
  }

  Cq cq_{64, nullptr};
  QueuePair* a_ = nullptr;
  QueuePair* b_ = nullptr;
  QpNumber a_number_;
};

TEST_F(EngineTest, AKickMakesThePass) {
  ASSERT_TRUE(b_->receive_queue().Post({}).has_value());
  PostSend(*a_);
  engine_.Kick(*a_);
  // Both ends are in this engine: the message, its acknowledgement and both completions are done.
  EXPECT_EQ(cq_.size(), 2U);
}

TEST_F(EngineTest, AKickWhileTheLockIsHeldRunsAtItsRelease) {
  ASSERT_TRUE(b_->receive_queue().Post({}).has_value());
  PostSend(*a_);
  {
    const EngineLock lock(engine_);
    std::thread([this] { engine_.Kick(*a_); }).join();
    EXPECT_EQ(cq_.size(), 0U);
  }
  EXPECT_EQ(cq_.size(), 2U);
}

TEST_F(EngineTest, AnIdlePassReturnsFalse) {
  const EngineLock lock(engine_);
  while (engine_.Pass()) {
  }
  EXPECT_FALSE(engine_.has_work());
  EXPECT_EQ(engine_.next_time(), Time::Never());
}

TEST_F(EngineTest, NextTimeIsTheDeadlineAndTheTimerRuns) {
  // No receive request is posted: the peer sends an RNR NAK, and its timer runs the requester
  // again.
  PostSend(*a_);
  engine_.Kick(*a_);
  Time next;
  {
    const EngineLock lock(engine_);
    next = engine_.next_time();
    EXPECT_NE(next, Time::Never());
  }
  ASSERT_TRUE(b_->receive_queue().Post({}).has_value());
  while (Now() < next) usleep(100);
  const Time end = Now() + Seconds(10);
  while (cq_.size() < 2 && Now() < end) {
    const EngineLock lock(engine_);
    engine_.Pass();
  }
  EXPECT_EQ(cq_.size(), 2U);
}

TEST_F(EngineTest, TheAlarmIsSetOnlyForAProgressThreadThatSleeps) {
  PostSend(*a_);
  engine_.Kick(*a_);
  EXPECT_EQ(engine_.alarm().set_to(), Time::Never());
  Time next;
  {
    const EngineLock lock(engine_);
    engine_.AddSleeper();
    next = engine_.next_time();
  }
  EXPECT_EQ(engine_.alarm().set_to(), next);
}

TEST_F(EngineTest, APollIsRecordedUntilTheProgramSleeps) {
  EXPECT_EQ(engine_.polled_until(), Time());
  engine_.Progress(cq_);
  EXPECT_GT(engine_.polled_until(), Time());
  engine_.ClearPolls();
  cq_.ArmForEvent(queue::CompletionQueue::Wanted::kAll);
  engine_.Progress(cq_);
  EXPECT_EQ(engine_.polled_until(), Time()) << "who armed a queue is about to sleep";
}

TEST_F(EngineTest, APollThatFindsTheLockTakenIsRecorded) {
  const EngineLock lock(engine_);
  std::thread([this] { engine_.Progress(cq_); }).join();
  EXPECT_GT(engine_.polled_until(), Time());
}

AdapterOptions OneRunAPass() {
  AdapterOptions options = LongPolls();
  options.runs_per_pass = 1;
  options.work_retry = std::chrono::nanoseconds(7);
  return options;
}
class EngineRetryTest : public EngineTest {
 protected:
  EngineRetryTest() : EngineTest(OneRunAPass()) {}
};

TEST_F(EngineRetryTest, RemainingWorkIsDoneInTime) {
  ASSERT_TRUE(b_->receive_queue().Post({}).has_value());
  PostSend(*a_);
  engine_.Kick(*a_);
  const EngineLock lock(engine_);
  ASSERT_TRUE(engine_.has_work()) << "the peer has not run";
  EXPECT_EQ(engine_.next_time(), engine_.now() + Nanoseconds(7));
}

TEST_F(EngineTest, AMarkedQueuePairCanBeDestroyed) {
  PostSend(*a_);
  {
    const EngineLock lock(engine_);
    std::thread([this] { engine_.Kick(*a_); }).join();
    engine_.RemoveQp(*a_);
    EXPECT_EQ(engine_.qps.size(), 1U);
  }
  const EngineLock lock(engine_);
  while (engine_.Pass()) {  // the message was sent all the same
  }
  EXPECT_FALSE(engine_.has_work());
}

// A queue pair whose peer never answers, so that its requests stay outstanding.
class EngineBatchTest : public EngineTest {
 protected:
  EngineBatchTest() {
    const EngineLock lock(engine_);
    const auto own = EndpointOf(a_number_);
    const fabric::EndpointId other(static_cast<uint16_t>(own.value() == 0 ? 1 : own.value() - 1));
    qp_ = &MakeQp(MakeQpNumber(other, 77));
  }
  ~EngineBatchTest() override {
    const EngineLock lock(engine_);
    engine_.RemoveQp(*qp_);
  }
  void PostSmall(int count = 1) {
    for (int i = 0; i < count; ++i) {
      const auto number = qp_->send_queue().Post({});
      ASSERT_TRUE(number.has_value());
      engine_.KickSmall(*qp_, *number);
    }
  }
  uint64_t Sent() {
    // TryEnter instead of EngineLock, which would drain the ready list.
    return qp_->traffic.packets_sent;
  }

  QueuePair* qp_ = nullptr;
};

TEST_F(EngineBatchTest, SmallRequestsBehindOutstandingOnesLeaveWithTheNextPoll) {
  engine_.Progress(cq_);
  PostSmall(8);
  EXPECT_EQ(Sent(), 8U) << "few are on the way: each leaves at once";
  PostSmall(5);
  EXPECT_EQ(Sent(), 8U);
  engine_.Progress(cq_);
  engine_.Progress(cq_);  // the first may return before the queue pairs run
  EXPECT_EQ(Sent(), 13U);
}

TEST_F(EngineBatchTest, AFullBatchLeavesAtOnce) {
  engine_.Progress(cq_);
  PostSmall(32);
  EXPECT_EQ(Sent(), 8U);
  PostSmall();
  EXPECT_EQ(Sent(), 33U);
}

// After a pause of this process, a packet that has arrived meanwhile may stop the timer.
TEST_F(EngineBatchTest, TimersRunAfterPacketsThatHaveArrived) {
  PostSmall();
  usleep(30'000);  // the timer is due after 17 ms
  SendSomething();
  const EngineLock lock(engine_);
  ASSERT_TRUE(engine_.Pass());
  EXPECT_EQ(qp_->counters().timeouts, 0U);
  engine_.Pass();
  EXPECT_EQ(qp_->counters().timeouts, 1U);
}

TEST_F(EngineBatchTest, TimersRunAlthoughPacketsKeepArriving) {
  PostSmall();
  usleep(30'000);
  int passes = 0;
  for (; qp_->counters().timeouts == 0 && passes < 100; ++passes) {
    SendSomething();
    const EngineLock lock(engine_);
    engine_.Pass();
  }
  EXPECT_EQ(passes, 17);
}

TEST_F(EngineTest, ModerationSetsADeadline) {
  const EngineLock lock(engine_);
  cq_.is_moderated = true;
  cq_.SetModeration(10, Seconds(5));
  engine_.UpdateModeration(cq_);
  EXPECT_EQ(engine_.next_time(), Time::Never());
  cq_.Arm(queue::CompletionQueue::Wanted::kAll);
  cq_.Push({}, false, Now());
  EXPECT_LT(engine_.next_time(), Now() + Seconds(6));
  engine_.RemoveCq(cq_);
  EXPECT_EQ(engine_.next_time(), Time::Never());
}

class EngineThreads : public EngineTest {};

// A packet that the poller cannot take must not keep it awake: the holder may need its processor.
TEST_F(EngineThreads, APollerSleepsWhileAnotherThreadHoldsTheLock) {
  std::atomic<bool> is_held = false, ends = false;
  std::thread holder([&] {
    const EngineLock lock(engine_);
    is_held = true;
    while (!ends) usleep(100);
  });
  EXPECT_TRUE(Becomes([&] { return is_held.load(); }));
  SendSomething();
  const auto hold = engine_.OtherHold();
  EXPECT_TRUE(hold);
  EXPECT_EQ(engine_.OtherHold(), hold);
  const Time before = Now();
  EXPECT_GE(engine_.SleepOnLock(before, Milliseconds(20)) - before, Milliseconds(20));
  ends = true;
  const Time after = engine_.SleepOnLock(Now(), Seconds(100));
  EXPECT_LT(after - before, Seconds(50)) << "the release wakes it up";
  holder.join();
  EXPECT_EQ(engine_.OtherHold(), std::nullopt);
}

}  // namespace
}  // namespace verbena::adapter
