#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "sim/oracle/atomics.h"
#include "sim/oracle/completions.h"
#include "sim/oracle/faults.h"
#include "sim/oracle/leaks.h"
#include "sim/oracle/shadow.h"

namespace verbena::sim {
namespace {

using queue::CompletionStatus;

class ShadowTest : public testing::Test {
 protected:
  bool IsGood() {
    Findings findings;
    shadow_.Check(findings);
    return findings.empty();
  }
  bool EndsWell(uint64_t id) {
    Findings findings;
    shadow_.Finish(id, true, "it", findings);
    return findings.empty();
  }

  std::array<std::byte, 64> memory_{};
  Shadow shadow_{memory_};
};

TEST_F(ShadowTest, FindsAByteThatNobodyMayChange) {
  EXPECT_TRUE(IsGood());
  memory_[63] = std::byte{1};
  EXPECT_FALSE(IsGood());
}

TEST_F(ShadowTest, AllowsOldAndNewBytesOnlyWhileUnderWay) {
  shadow_.Allow(1, 8, std::vector(4, std::byte{7}));
  memory_[9] = std::byte{7};
  EXPECT_TRUE(IsGood()) << "half done";
  memory_[10] = std::byte{8};
  EXPECT_FALSE(IsGood()) << "neither old nor new";
  memory_[10] = std::byte{7};
  EXPECT_FALSE(EndsWell(1)) << "not all there";
  memory_[8] = std::byte{7};
  EXPECT_FALSE(IsGood()) << "it has ended";
}

TEST_F(ShadowTest, NothingChangesWhileForbidden) {
  shadow_.Allow(1, 0, std::vector(2, std::byte{7}));
  memory_[0] = std::byte{7};
  shadow_.Forbid(1);
  EXPECT_TRUE(IsGood());
  memory_[1] = std::byte{7};
  EXPECT_FALSE(IsGood());
  shadow_.AllowAgain(1);
  EXPECT_TRUE(IsGood());
  EXPECT_TRUE(EndsWell(1));
}

bool IsPossible(AtomicsOracle oracle, uint64_t final_value) {
  Findings findings;
  oracle.Check(final_value, findings);
  return findings.empty();
}

TEST(AtomicsOracleTest, EachAddHappensOnce) {
  AtomicsOracle oracle;
  oracle.Succeeded(5, 10);
  oracle.Succeeded(0, 5);
  EXPECT_TRUE(IsPossible(oracle, 15));
  EXPECT_FALSE(IsPossible(oracle, 25)) << "one of them twice";
  EXPECT_FALSE(IsPossible(oracle, 5)) << "one of them not at all";
}

TEST(AtomicsOracleTest, TwoThatFindTheSameValueAreWrong) {
  AtomicsOracle oracle;
  oracle.Succeeded(0, 5);
  oracle.Succeeded(0, 6);
  EXPECT_FALSE(IsPossible(oracle, 11));
}

TEST(AtomicsOracleTest, FailedOnesHappenInOrderOrNot) {
  AtomicsOracle oracle;
  oracle.Succeeded(3, 10);
  oracle.Failed(1, 3);
  oracle.Failed(1, 100);
  EXPECT_TRUE(IsPossible(oracle, 13));
  EXPECT_TRUE(IsPossible(oracle, 113));
  EXPECT_FALSE(IsPossible(oracle, 116));
}

class CompletionsOracleTest : public testing::Test {
 protected:
  void Post(uint64_t id, bool signaled = true, Fate fate = Fate::kSuccess) {
    auto operation = std::make_shared<Operation>();
    operation->id = id;
    operation->is_signaled = signaled;
    operation->fate = fate;
    oracle_.Posted(operation);
  }
  bool Complete(uint64_t id, CompletionStatus status = CompletionStatus::kSuccess,
                const Excuses& excuses = {}) {
    Findings findings;
    queue::Completion completion;
    completion.id = queue::WrId(id);
    completion.status = status;
    oracle_.Completed(completion, excuses, findings, [](Operation&, bool) {});
    return findings.empty();
  }
  CompletionsOracle oracle_;
};

TEST_F(CompletionsOracleTest, EachOnceAndInOrder) {
  Post(1);
  Post(2, false);
  Post(3);
  EXPECT_TRUE(Complete(1));
  EXPECT_TRUE(Complete(3)) << "the silent one in between has succeeded";
  EXPECT_FALSE(Complete(3)) << "twice";
}

TEST_F(CompletionsOracleTest, NoneIsLeftOut) {
  Post(1);
  Post(2);
  EXPECT_FALSE(Complete(2));
}

TEST_F(CompletionsOracleTest, AStatusNeedsAnExcuse) {
  Post(1);
  EXPECT_FALSE(Complete(1, CompletionStatus::kRetryExceeded));
  Post(2);
  EXPECT_TRUE(Complete(2, CompletionStatus::kRetryExceeded, {.may_lose = true}));
  Post(3);
  EXPECT_FALSE(Complete(3)) << "a success behind a failure";
}

TEST_F(CompletionsOracleTest, WhatIsIllegalDoesNotSucceed) {
  Post(1, true, Fate::kRemoteDenied);
  EXPECT_FALSE(Complete(1));
}

TEST(FaultsOracleTest, CountsWhatRnrRetryAllows) {
  Swarm swarm;
  swarm.rnr_retry = 1;
  FaultsOracle oracle(swarm);
  Findings findings;
  oracle.NotReady(wire::Psn(5));
  oracle.CheckRetries(false, findings);
  EXPECT_TRUE(findings.empty());
  oracle.CheckRetries(true, findings);
  EXPECT_FALSE(findings.empty()) << "gave up too early";
}

TEST(FaultsOracleTest, ATimerMustNotRepairAFault) {
  Findings findings;
  const FaultsOracle oracle{Swarm{}};
  oracle.CheckLatency(FaultsOracle::kLatencyMax, findings);
  oracle.CheckTimeouts({}, findings);
  EXPECT_TRUE(findings.empty());
  oracle.CheckTimeouts({.timeouts = 1}, findings);
  EXPECT_FALSE(findings.empty());
}

TEST(LeaksOracleTest, FindsWhatIsLeft) {
  memory::MemoryCore core;
  Findings none;
  CheckNothingIsLeft(core, none);
  EXPECT_TRUE(none.empty());
  ASSERT_TRUE(core.consumers.Open({}).has_value());
  Findings findings;
  CheckNothingIsLeft(core, findings);
  EXPECT_FALSE(findings.empty());
}

}  // namespace
}  // namespace verbena::sim
