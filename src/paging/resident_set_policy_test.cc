// How well a resident set chooses when it sees no use except the faults that it causes: the CPU
// reports nothing about a granule that is mapped.

#include <vector>

#include <gtest/gtest.h>

#include "paging/resident_set.h"
#include "tests/support/granule_traces.h"

namespace verbena::paging {
namespace {

// A program whose granules have all been written once, and a store that never fails.
class Program {
 public:
  Program() {
    for (uint32_t granule = 0; granule < kGranules; ++granule) Fault(granule, Need::kWrite);
  }

  // The share of accesses that find their granule in memory.
  double HitRatio(const Trace& trace) {
    const uint64_t before = resident_set_.counters().reads;
    for (const uint32_t granule : trace) {
      now_ += Microseconds(1);
      if (resident_set_.granule(granule).cpu == Rights::kNone) Fault(granule, Need::kRead);
    }
    const uint64_t misses = resident_set_.counters().reads - before;
    return 1 - static_cast<double>(misses) / static_cast<double>(trace.size());
  }

  uint64_t rescued() const { return resident_set_.counters().rescued; }

 private:
  void Fault(uint32_t granule, Need need) {
    now_ += Microseconds(50);
    resident_set_.PageIn(Ticket(1), {granule, 1}, need, View::kCpu, now_);
    CarryOut();
    while (resident_set_.tickets_under_way() > 0) {
      now_ = resident_set_.next_time();
      resident_set_.OnTime(now_);
      CarryOut();
    }
  }

  void CarryOut() {
    while (!resident_set_.actions().empty()) {
      const std::vector<Action> actions(resident_set_.actions().begin(),
                                        resident_set_.actions().end());
      resident_set_.ClearActions();
      for (const Action& action : actions) CarryOut(action);
    }
  }

  void CarryOut(const Action& action) {
    for (uint32_t i = 0; i < action.run.count; ++i) {
      const uint32_t granule = action.run.first + i;
      if (action.verb == Verb::kRead) resident_set_.ReadDone(granule, ReadOutcome::kGood, now_);
      if (action.verb == Verb::kWrite) resident_set_.WriteDone(granule, WriteOutcome::kGood, now_);
    }
  }

  Time now_;
  ResidentSet resident_set_{kGranules, {.budget = kCapacity, .read_ahead_max = 0}};
};

// Compares with an LRU that sees every use.
TEST(ResidentSetPolicy, BeatsLruOnSkewedUse) {
  Program program;
  const Trace trace = ZipfTrace(100'000, 0.9);
  EXPECT_GT(program.HitRatio(trace), LruHitRatio(trace) + 0.02);
  // The cost of finding out: few faults beside those that read.
  EXPECT_LT(program.rescued(), trace.size() / 50);
}

TEST(ResidentSetPolicy, BeatsLruDuringAScan) {
  Program program;
  const Trace trace = ScanAndZipfTrace(100'000);
  EXPECT_GT(program.HitRatio(trace), LruHitRatio(trace) + 0.04);
}

TEST(ResidentSetPolicy, KeepsALoopThatFits) {
  Program program;
  const Trace trace = LoopTrace(100'000, kCapacity * 9 / 10);
  EXPECT_GT(program.HitRatio(trace), 0.98);
}

}  // namespace
}  // namespace verbena::paging
