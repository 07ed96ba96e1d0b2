#include "adapter/loop/engine.h"

#include <unistd.h>

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
  options.poll_recent = Seconds(1'000);  // however busy the machine is
  return options;
}

// What happens, happens here. Two queue pairs talk to each other.
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

TEST_F(EngineTest, AKickDoesTheWork) {
  ASSERT_TRUE(b_->receive_queue().Post({}).has_value());
  PostSend(*a_);
  engine_.Kick(*a_);
  // Both sides are here: the message, its acknowledgement and both completions.
  EXPECT_EQ(cq_.size(), 2U);
}

TEST_F(EngineTest, AKickWhileTheLockIsHeldIsTakenUpAtItsRelease) {
  ASSERT_TRUE(b_->receive_queue().Post({}).has_value());
  PostSend(*a_);
  {
    const EngineLock lock(engine_);
    std::thread([this] { engine_.Kick(*a_); }).join();
    EXPECT_EQ(cq_.size(), 0U);
  }
  EXPECT_EQ(cq_.size(), 2U);
}

TEST_F(EngineTest, APassWithNothingToDoSaysSo) {
  const EngineLock lock(engine_);
  while (engine_.Pass()) {
  }
  EXPECT_FALSE(engine_.has_work());
  EXPECT_EQ(engine_.next_time(), Time::Never());
}

TEST_F(EngineTest, TimersAreNamedAndRun) {
  // No receive request is posted: the peer asks to wait, and the timer brings it back.
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

TEST_F(EngineTest, RemembersThatAThreadPolls) {
  EXPECT_EQ(engine_.polled_until(), Time());
  engine_.Progress(cq_);
  EXPECT_GT(engine_.polled_until(), Time());
  engine_.ClearPolls();
  cq_.ArmForEvent(queue::CompletionQueue::Wanted::kAll);
  engine_.Progress(cq_);
  EXPECT_EQ(engine_.polled_until(), Time()) << "who armed a queue is about to sleep";
}

TEST_F(EngineTest, APollerWhoFindsTheLockTakenPolls) {
  const EngineLock lock(engine_);
  std::thread([this] { engine_.Progress(cq_); }).join();
  EXPECT_GT(engine_.polled_until(), Time());
}

AdapterOptions OneRunAPass() {
  AdapterOptions options = LongPolls();
  options.runs_per_pass = 1;
  options.work_retry = Nanoseconds(7);
  return options;
}
class EngineRetryTest : public EngineTest {
 protected:
  EngineRetryTest() : EngineTest(OneRunAPass()) {}
};

TEST_F(EngineRetryTest, WorkThatIsLeftIsTakenUpInTime) {
  ASSERT_TRUE(b_->receive_queue().Post({}).has_value());
  PostSend(*a_);
  engine_.Kick(*a_);
  const EngineLock lock(engine_);
  ASSERT_TRUE(engine_.has_work()) << "the peer has not run";
  EXPECT_EQ(engine_.next_time(), engine_.now() + Nanoseconds(7));
}

TEST_F(EngineTest, AQueuePairThatIsMarkedMayGo) {
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

// A queue pair whose peer never answers, so that what it has sent is on the way.
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
    // Not by EngineLock, which takes up the marks.
    return qp_->traffic.packets_sent;
  }

  QueuePair* qp_ = nullptr;
};

TEST_F(EngineBatchTest, SmallRequestsBehindOthersLeaveWithTheNextPoll) {
  engine_.Progress(cq_);
  PostSmall(8);
  EXPECT_EQ(Sent(), 8U) << "few are on the way: each leaves at once";
  PostSmall(5);
  EXPECT_EQ(Sent(), 8U);
  engine_.Progress(cq_);
  engine_.Progress(cq_);  // the first may have been let go before its queue pairs ran
  EXPECT_EQ(Sent(), 13U);
}

TEST_F(EngineBatchTest, AFullBatchDoesNotWait) {
  engine_.Progress(cq_);
  PostSmall(32);
  EXPECT_EQ(Sent(), 8U);
  PostSmall();
  EXPECT_EQ(Sent(), 33U);
}

// This process did not run for a while: what arrived meanwhile may stop the timer.
TEST_F(EngineBatchTest, TimersRunWhenWhatHasArrivedWasRead) {
  PostSmall();
  usleep(30'000);  // it is due after 17 ms
  SendSomething();
  const EngineLock lock(engine_);
  ASSERT_TRUE(engine_.Pass());
  EXPECT_EQ(qp_->counters().timeouts, 0U);
  engine_.Pass();
  EXPECT_EQ(qp_->counters().timeouts, 1U);
}

TEST_F(EngineBatchTest, TimersRunInTheEndHoweverMuchArrives) {
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

TEST_F(EngineTest, ModerationNamesADeadline) {
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

}  // namespace
}  // namespace verbena::adapter
