#include "paging/eviction.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "paging/granule_table.h"
#include "tests/support/granule_traces.h"

namespace verbena::paging {
namespace {

// The share of accesses that find their granule in memory, if each miss brings one granule in.
double HitRatio(const Trace& trace) {
  GranuleTable table(kGranules);
  Eviction eviction(kCapacity);
  uint64_t hits = 0;
  for (const uint32_t granule : trace) {
    if (Frame* const frame = table.Find(granule); frame != nullptr) {
      ++hits;
      eviction.Touch(*frame);
      continue;
    }
    if (table.frame_count() == kCapacity) {
      table.Remove(*eviction.TakeVictim(), Place::kSwapped, eviction.NextStamp());
    }
    const uint32_t stamp = table.stamp(granule);
    Frame& frame = table.Add(granule);
    frame.queue = eviction.QueueFor(stamp);
    eviction.Enter(frame);
  }
  return static_cast<double>(hits) / static_cast<double>(trace.size());
}

TEST(Eviction, BeatsLruAndFifoOnSkewedUse) {
  const Trace trace = ZipfTrace(100'000, 0.9);
  EXPECT_GT(HitRatio(trace), LruHitRatio(trace) + 0.04);
  EXPECT_GT(HitRatio(trace), FifoHitRatio(trace) + 0.06);
}

TEST(Eviction, BeatsLruAndFifoDuringAScan) {
  const Trace trace = ScanAndZipfTrace(100'000);
  EXPECT_GT(HitRatio(trace), LruHitRatio(trace) + 0.06);
  EXPECT_GT(HitRatio(trace), FifoHitRatio(trace) + 0.08);
}

// LRU and FIFO always evict the granule that is needed next.
TEST(Eviction, KeepsSomeOfALoopThatDoesNotFit) {
  const Trace trace = LoopTrace(100'000, kCapacity * 3 / 2);
  EXPECT_LT(LruHitRatio(trace), 0.01);
  EXPECT_LT(FifoHitRatio(trace), 0.01);
  EXPECT_GT(HitRatio(trace), 0.05);
}

TEST(Eviction, KeepsALoopThatFits) {
  const Trace trace = LoopTrace(100'000, kCapacity);
  EXPECT_GT(HitRatio(trace), 0.98);
}

TEST(Eviction, IsAsGoodAsFifoOnUniformUse) {
  Random random(3);
  Trace trace;
  while (trace.size() < 100'000) trace.push_back(static_cast<uint32_t>(random.Below(3000)));
  EXPECT_GT(HitRatio(trace), FifoHitRatio(trace) - 0.01);
  EXPECT_GT(HitRatio(trace), LruHitRatio(trace) - 0.01);
}

TEST(Eviction, HasNoVictimWhenEmpty) {
  Eviction eviction(10);
  EXPECT_EQ(eviction.TakeVictim(), nullptr);
}

TEST(Eviction, TakesTheOldestUnused) {
  Eviction eviction(10);
  std::vector<Frame> frames(4);
  for (Frame& frame : frames) eviction.Enter(frame);
  eviction.Touch(frames[0]);
  EXPECT_EQ(eviction.TakeVictim(), &frames[1]);
  EXPECT_EQ(frames[0].queue, Frame::Queue::kMain);
  EXPECT_EQ(eviction.TakeVictim(), &frames[2]);
  EXPECT_EQ(eviction.size(), 2U);
}

TEST(Eviction, EachUseKeepsAGranuleForOneRound) {
  Eviction eviction(10);
  std::vector<Frame> frames(2);
  for (Frame& frame : frames) {
    frame.queue = Frame::Queue::kMain;
    eviction.Enter(frame);
  }
  for (int i = 0; i < 9; ++i) eviction.Touch(frames[0]);
  EXPECT_EQ(frames[0].uses, 3);
  EXPECT_EQ(eviction.TakeVictim(), &frames[1]);
  EXPECT_EQ(frames[0].uses, 2);
  EXPECT_EQ(eviction.TakeVictim(), &frames[0]);  // terminates although all were used
}

TEST(Eviction, RemembersAsManyEvictionsAsFit) {
  Eviction eviction(10);
  const uint32_t stamp = eviction.NextStamp();
  EXPECT_EQ(eviction.QueueFor(stamp), Frame::Queue::kMain);
  EXPECT_EQ(eviction.QueueFor(0), Frame::Queue::kSmall);
  for (int i = 0; i < 9; ++i) static_cast<void>(eviction.NextStamp());
  EXPECT_EQ(eviction.QueueFor(stamp), Frame::Queue::kMain);
  static_cast<void>(eviction.NextStamp());
  EXPECT_EQ(eviction.QueueFor(stamp), Frame::Queue::kSmall);
  eviction.SetCapacity(20);
  EXPECT_EQ(eviction.QueueFor(stamp), Frame::Queue::kMain);
}

}  // namespace
}  // namespace verbena::paging
