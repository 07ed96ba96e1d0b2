#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "sim/oracle/access.h"
#include "sim/oracle/atomics.h"
#include "sim/oracle/completions.h"
#include "sim/oracle/faults.h"
#include "sim/oracle/leaks.h"
#include "sim/oracle/messages.h"
#include "sim/oracle/progress.h"
#include "sim/oracle/retries.h"
#include "sim/oracle/shadow.h"
#include "sim/oracle/srq_limit.h"

namespace verbena::sim {
namespace {

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

TEST_F(ShadowTest, FindsAByteThatMustNotChange) {
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

TEST_F(ShadowTest, SettledBytesAreExpected) {
  shadow_.Allow(1, 8, std::vector(4, std::byte{0}), /*any=*/true);
  memory_[9] = std::byte{7};
  memory_[12] = std::byte{7};
  shadow_.Settle();
  EXPECT_EQ(shadow_.Expected(9, 1)[0], std::byte{7});
  EXPECT_EQ(shadow_.Expected(12, 1)[0], std::byte{0});
  EXPECT_FALSE(IsGood()) << "the byte behind it";
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

TEST_F(ShadowTest, NothingChangesAnyMoreOnceItIsClosed) {
  shadow_.Allow(1, 0, std::vector(2, std::byte{7}));
  memory_[0] = std::byte{7};
  shadow_.Close();
  EXPECT_TRUE(IsGood()) << "what was done before";
  shadow_.AllowAgain(1);
  shadow_.Allow(2, 8, std::vector(1, std::byte{7}));
  memory_[8] = std::byte{7};
  EXPECT_FALSE(IsGood());
}

TEST_F(ShadowTest, ALooseOneAllowsAnyBytesButNoOtherPlaces) {
  shadow_.Allow(1, 0, std::vector(2, std::byte{7}));
  shadow_.Loosen();
  shadow_.Allow(2, 8, std::vector(1, std::byte{7}));
  memory_[1] = memory_[8] = std::byte{9};
  EXPECT_TRUE(IsGood());
  memory_[9] = std::byte{9};
  EXPECT_FALSE(IsGood());
}

TEST_F(ShadowTest, ALooseOneAllowsAnOperationThatWasSaidToHaveEnded) {
  Findings findings;
  shadow_.Allow(1, 0, std::vector(2, std::byte{7}));
  shadow_.Loosen();
  shadow_.Finish(1, true, "a write", findings);
  memory_[0] = memory_[1] = std::byte{7};
  EXPECT_TRUE(findings.empty());
  EXPECT_TRUE(IsGood());
}

TEST_F(ShadowTest, ASuspendedOperationMayGoOnAndAForbiddenOneMayNot) {
  shadow_.Allow(1, 0, std::vector(1, std::byte{7}));
  shadow_.Allow(2, 8, std::vector(1, std::byte{7}));
  shadow_.Forbid(2);
  shadow_.Suspend(1);
  shadow_.Suspend(2);
  memory_[0] = std::byte{7};
  EXPECT_FALSE(IsGood());
  shadow_.Resume();
  EXPECT_TRUE(IsGood());
  memory_[8] = std::byte{7};
  EXPECT_FALSE(IsGood());
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

TEST(AtomicsOracleTest, TwoAddsWithTheSameOriginalValueAreAFinding) {
  AtomicsOracle oracle;
  oracle.Succeeded(0, 5);
  oracle.Succeeded(0, 6);
  EXPECT_FALSE(IsPossible(oracle, 11));
}

TEST(AtomicsOracleTest, FailedAddsAreExecutedInOrderOrNotAtAll) {
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
                const AllowedErrors& allowed_errors = {}) {
    Findings findings;
    Completion completion;
    completion.id = WrId(id);
    completion.status = status;
    oracle_.Completed(completion, allowed_errors, findings, [](Operation&, bool) {});
    return findings.empty();
  }
  CompletionsOracle oracle_;
};

TEST_F(CompletionsOracleTest, EachElementCompletesOnceAndInOrder) {
  Post(1);
  Post(2, false);
  Post(3);
  EXPECT_TRUE(Complete(1));
  EXPECT_TRUE(Complete(3)) << "the silent one in between has succeeded";
  EXPECT_FALSE(Complete(3)) << "twice";
}

TEST_F(CompletionsOracleTest, AMissingCompletionIsAFinding) {
  Post(1);
  Post(2);
  EXPECT_FALSE(Complete(2));
}

TEST_F(CompletionsOracleTest, AStatusNeedsAnAllowedError) {
  Post(1);
  EXPECT_FALSE(Complete(1, CompletionStatus::kRetryExceeded));
  Post(2);
  EXPECT_TRUE(Complete(2, CompletionStatus::kRetryExceeded, {.may_lose = true}));
  Post(3);
  EXPECT_FALSE(Complete(3)) << "a success behind a failure";
}

TEST_F(CompletionsOracleTest, AnIllegalOperationMustNotSucceed) {
  Post(1, true, Fate::kRemoteRefused);
  EXPECT_FALSE(Complete(1));
}

TEST(FaultsOracleTest, CountsWhatRnrRetryAllows) {
  Swarm swarm;
  swarm.rnr_retry = 1;
  FaultsOracle oracle(swarm);
  Findings findings;
  oracle.NotReady(Psn(5));
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
  oracle.CheckTimeouts(1, findings);
  EXPECT_FALSE(findings.empty());
}

class AccessOracleTest : public testing::Test {
 protected:
  static constexpr uint32_t kMtu = 256;
  static constexpr QpNumber kQp{1};
  static constexpr Key kKey{0x100};

  void Ask(uint32_t psn, uint64_t address, uint32_t length, Key key = kKey) {
    oracle_.Asked(kQp, Psn(psn), 1 + (length - 1) / kMtu,
                  {.address = KeyAddress(address), .r_key = key, .dma_length = length});
  }
  bool MayAnswer(uint32_t psn, size_t size) {
    Findings findings;
    oracle_.Answers(kQp, Psn(psn), kMtu, size, findings);
    return findings.empty();
  }
  AccessOracle oracle_;
};

TEST_F(AccessOracleTest, BytesLeaveByAKeyThatGrantsThem) {
  EXPECT_FALSE(MayAnswer(5, 1)) << "no request asked";
  EXPECT_TRUE(MayAnswer(5, 0)) << "no bytes";
  oracle_.Add(kKey, {.start = 1000, .length = 300, .rights = Access::kRemoteRead});
  Ask(5, 1000, 301);
  EXPECT_TRUE(MayAnswer(5, 256)) << "the first packet is in range";
  EXPECT_FALSE(MayAnswer(6, 45)) << "the second overruns the end";
  EXPECT_TRUE(MayAnswer(6, 44));
  oracle_.Remove(kKey);
  EXPECT_FALSE(MayAnswer(5, 256)) << "the key has gone since";
}

TEST_F(AccessOracleTest, RightQueuePairAndRegionAreAsked) {
  constexpr Key kRegion{0x200};
  oracle_.Add(kRegion, {.start = 0, .length = 100, .rights = Access::kRemoteWrite});
  Ask(1, 0, 10, kRegion);
  EXPECT_FALSE(MayAnswer(1, 10)) << "no right to read";
  oracle_.Add(
      kKey,
      {.start = 0, .length = 100, .rights = Access::kRemoteRead, .only = kQp, .region = kRegion});
  Ask(2, 0, 10);
  EXPECT_TRUE(MayAnswer(2, 10));
  oracle_.Suspend(kRegion, true);
  EXPECT_FALSE(MayAnswer(2, 10)) << "its region is away";
  oracle_.Suspend(kRegion, false);
  EXPECT_FALSE(oracle_.Allows(kKey.value(), 0, 10, Access::kRemoteRead, QpNumber(2)));
}

TEST_F(AccessOracleTest, ASpentKeyServesRepetitionsOnly) {
  oracle_.Add(kKey, {.start = 0, .length = 600, .rights = Access::kRemoteRead});
  Ask(1, 0, 600);
  oracle_.Spend(kKey);
  Ask(2, 256, 344);
  EXPECT_TRUE(MayAnswer(2, 256)) << "the rest of the first read again";
  Ask(9, 0, 100);
  EXPECT_FALSE(MayAnswer(9, 100)) << "another read";
}

class MessagesOracleTest : public testing::Test {
 protected:
  using Promise = MessagesOracle::Promise;

  static void Send(MessagesOracle& oracle, const std::vector<int>& values) {
    for (const int value : values) {
      oracle.Sent({.id = static_cast<uint64_t>(value),
                   .bytes = std::vector(3, static_cast<std::byte>(value)),
                   .immediate = {}});
    }
  }
  static bool Receive(MessagesOracle& oracle, int value, size_t size = 3) {
    Findings findings;
    oracle.Received(std::vector(size, static_cast<std::byte>(value)), {}, false, findings);
    return findings.empty();
  }
};

TEST_F(MessagesOracleTest, MessagesMayBeLostButNotTornOrInvented) {
  MessagesOracle oracle(Promise::kWhole);
  Send(oracle, {1, 2});
  EXPECT_FALSE(Receive(oracle, 1, 2)) << "torn";
  EXPECT_FALSE(Receive(oracle, 3)) << "never sent";
  EXPECT_TRUE(Receive(oracle, 2));
  EXPECT_TRUE(Receive(oracle, 2)) << "the link may repeat it";
  EXPECT_TRUE(Receive(oracle, 1));
}

TEST_F(MessagesOracleTest, ArrivesOnceOnALinkWithoutDuplicates) {
  MessagesOracle oracle(Promise::kOnce);
  Send(oracle, {1, 2});
  EXPECT_TRUE(Receive(oracle, 2));
  EXPECT_EQ(oracle.lost(), 1u);
  EXPECT_FALSE(Receive(oracle, 2));
  EXPECT_TRUE(Receive(oracle, 1)) << "in any order";
  EXPECT_EQ(oracle.lost(), 0u);
}

TEST_F(MessagesOracleTest, AConnectionKeepsTheOrder) {
  MessagesOracle oracle(Promise::kInOrder);
  Send(oracle, {1, 2, 3});
  EXPECT_TRUE(Receive(oracle, 2));
  EXPECT_FALSE(Receive(oracle, 1));
  EXPECT_TRUE(Receive(oracle, 3));
}

TEST_F(MessagesOracleTest, ALinkPromisesNoMoreThanItKeeps) {
  Swarm swarm;
  EXPECT_EQ(MessagesOracle::PromiseOf(swarm, true), Promise::kInOrder);
  EXPECT_EQ(MessagesOracle::PromiseOf(swarm, false), Promise::kOnce);
  swarm.jitter = Microseconds(1);
  EXPECT_EQ(MessagesOracle::PromiseOf(swarm, true), Promise::kOnce);
  swarm.duplication = 1;
  EXPECT_EQ(MessagesOracle::PromiseOf(swarm, true), Promise::kWhole);
}

class RetriesOracleTest : public testing::Test {
 protected:
  void Send(uint32_t psn, int times, uint32_t count = 1) {
    for (int i = 0; i < times; ++i) oracle_.Sent(Psn(psn), count);
  }
  bool GaveUpWell(CompletionStatus status) {
    Findings findings;
    oracle_.CheckGaveUp(status, 2, 1, findings);
    return findings.empty();
  }
  RetriesOracle oracle_;
};

TEST_F(RetriesOracleTest, SendsOnceAndRetryCountTimesMore) {
  Send(5, 2);
  EXPECT_FALSE(GaveUpWell(CompletionStatus::kRetryExceeded)) << "one early";
  Send(5, 1);
  EXPECT_TRUE(GaveUpWell(CompletionStatus::kRetryExceeded));
  Send(5, 1);
  EXPECT_FALSE(GaveUpWell(CompletionStatus::kRetryExceeded)) << "one too many";
}

TEST_F(RetriesOracleTest, ProgressResetsTheRetries) {
  Send(5, 3);
  Send(6, 3);
  oracle_.Acknowledged(Psn(5));
  EXPECT_FALSE(GaveUpWell(CompletionStatus::kRetryExceeded)) << "6 was sent, and no retry since";
  Send(6, 2);
  EXPECT_TRUE(GaveUpWell(CompletionStatus::kRetryExceeded));
}

TEST_F(RetriesOracleTest, AReadIsAskedForItsRest) {
  Send(5, 1, 4);
  oracle_.Acknowledged(Psn(6));
  Send(7, 2, 2);
  EXPECT_TRUE(GaveUpWell(CompletionStatus::kRetryExceeded));
}

TEST_F(RetriesOracleTest, NotReadyIsCountedByItself) {
  Send(5, 1);
  Send(6, 1);
  oracle_.NotReady(Psn(5));
  EXPECT_FALSE(GaveUpWell(CompletionStatus::kRnrRetryExceeded));
  Send(5, 1);
  oracle_.NotReady(Psn(5));
  EXPECT_TRUE(GaveUpWell(CompletionStatus::kRnrRetryExceeded));
  oracle_.Acknowledged(Psn(5));
  Send(6, 1);
  EXPECT_FALSE(GaveUpWell(CompletionStatus::kRnrRetryExceeded)) << "it was never looked at before";
}

TEST(ProgressOracleTest, ChecksTheTimeAtTheHeadOfTheQueue) {
  ProgressOracle oracle;
  Findings findings;
  const auto at = [](int64_t ms) { return Time() + Milliseconds(ms); };
  oracle.Ended(at(10), at(13), findings);
  oracle.Ended(at(10), at(16), findings);
  EXPECT_TRUE(findings.empty()) << "it was at the head for 3 ms";
  oracle.Ended(at(16), at(21), findings);
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

TEST(SrqLimitOracleTest, TheEventComesOnceWhenFewerAreLeft) {
  Findings findings;
  SrqLimitOracle oracle;
  oracle.Posted(4);
  oracle.Armed(3);
  oracle.Check(3, 3, findings);
  EXPECT_TRUE(findings.empty()) << "as many as the limit are left";
  oracle.OnEvent(2, findings);
  oracle.Check(1, 0, findings);
  EXPECT_TRUE(findings.empty()) << findings.text();
  oracle.OnEvent(0, findings);
  EXPECT_EQ(findings.text(), "srq: a limit event that was not asked for, or too early");
}

TEST(SrqLimitOracleTest, AnEventThatDoesNotComeIsMissed) {
  Findings findings;
  SrqLimitOracle oracle;
  oracle.Posted(4);
  oracle.Armed(9);
  oracle.Check(4, 9, findings);
  EXPECT_TRUE(findings.empty()) << "nothing was taken since";
  oracle.Check(3, 0, findings);
  EXPECT_EQ(findings.text(), "srq: the limit raised no event");
}

TEST(SrqLimitOracleTest, ALimitThatStaysArmedIsSeen) {
  Findings findings;
  SrqLimitOracle oracle;
  oracle.Posted(1);
  oracle.Armed(1);
  oracle.OnEvent(0, findings);
  oracle.Check(0, 1, findings);
  EXPECT_EQ(findings.text(), "srq: a limit is armed that was not asked for, or is not");
}

}  // namespace
}  // namespace verbena::sim
