#include <gtest/gtest.h>

#include "paging/resident_set.h"
#include "tests/support/resident_set_fixture.h"

namespace verbena::paging {
namespace {

class ResidentSetEvictTest : public ResidentSetFixture {
 protected:
  // Memory is full of dirty granules, and the oldest is being evicted.
  void FillMemory() {
    WriteAll(0, 15);
    EXPECT_EQ(Write(15), "make zero 15; map 15 cpu writable; ready #15 15; unmap 0 cpu; write 0");
  }
};

TEST_F(ResidentSetEvictTest, WritesAheadAndDropsWhenMemoryIsNeeded) {
  FillMemory();
  EXPECT_EQ(WriteDone(0), "");
  EXPECT_EQ(StateOf(0), ResidentSet::State::kClean);
  EXPECT_EQ(Write(16),
            "drop 0; make zero 16; map 16 cpu writable; ready #16 16; unmap 1 cpu; write 1");
  EXPECT_EQ(StateOf(0), ResidentSet::State::kSwapped);
  EXPECT_EQ(in_memory(), 16U);
}

// Four writes can be in flight. The next granules are evicted together, when half of the writes are
// done.
TEST_F(ResidentSetEvictTest, EvictionsAreBatched) {
  FillMemory();
  EXPECT_EQ(PageIn(99, {20, 4}, Need::kWrite), "unmap 1+2 cpu; write 1+2");
  EXPECT_EQ(WriteDone(0), "drop 0; make zero 20");
  EXPECT_EQ(WriteDone(1), "drop 1; unmap 4 cpu; write 4; make zero 21");
}

TEST_F(ResidentSetEvictTest, UnmapsBothViews) {
  PageIn(1, {0, 1}, Need::kWrite, View::kAdapter);
  WriteAll(0, 15);
  EXPECT_EQ(Write(15), "make zero 15; map 15 cpu writable; ready #15 15; unmap 1 cpu; write 1");
  // Granule 0 was requested twice, so it went round; it is evicted after all others.
  EXPECT_EQ(SetBudget(8), "");
  EXPECT_EQ(resident_set_.granule(0).adapter, Rights::kWrite);
  for (int i = 0; i < 40; ++i) WriteAll(16, 36);
  EXPECT_EQ(resident_set_.granule(0),
            (ResidentSet::Granule{.state = ResidentSet::State::kSwapped}));
}

TEST_F(ResidentSetEvictTest, AGranuleThatIsRequestedAgainStays) {
  FillMemory();
  EXPECT_EQ(WriteDone(0), "");
  EXPECT_EQ(Read(0), "map 0 cpu; ready #0 0; unmap 1 cpu; write 1");
  EXPECT_EQ(resident_set_.counters().rescued, 1U);
}

TEST_F(ResidentSetEvictTest, AReadCancelsAnEvictionAndTheWriteCounts) {
  FillMemory();
  EXPECT_EQ(Read(0), "map 0 cpu; ready #0 0; unmap 1 cpu; write 1");
  EXPECT_EQ(resident_set_.granule(0),
            (ResidentSet::Granule{ResidentSet::State::kWriting, Rights::kRead}));
  EXPECT_EQ(WriteDone(0), "");
  EXPECT_EQ(resident_set_.granule(0),
            (ResidentSet::Granule{ResidentSet::State::kClean, Rights::kRead}));
}

TEST_F(ResidentSetEvictTest, AWriteAccessCancelsAnEvictionAndItsWrite) {
  FillMemory();
  EXPECT_EQ(Write(0), "map 0 cpu writable; ready #0 0; unmap 1 cpu; write 1");
  EXPECT_EQ(WriteDone(0), "forget 0");
  EXPECT_EQ(resident_set_.granule(0),
            (ResidentSet::Granule{ResidentSet::State::kDirty, Rights::kWrite}));
}

TEST_F(ResidentSetEvictTest, AReaderAfterTheWriterMayWrite) {
  FillMemory();
  Write(0);
  EXPECT_EQ(PageIn(9, {0, 1}, Need::kRead, View::kAdapter), "map 0 adapter writable; ready #9 0");
  EXPECT_EQ(WriteDone(0), "forget 0");
}

TEST_F(ResidentSetEvictTest, CleanGranulesAreNotWrittenTwice) {
  WriteAll(0, 48);
  const uint64_t writes = resident_set_.counters().writes;
  const uint64_t drops = resident_set_.counters().drops;
  for (uint32_t granule = 0; granule < 30; ++granule) {
    Read(granule);
    EndWrites(WriteOutcome::kGood);
    if (StateOf(granule) == ResidentSet::State::kReading) ReadDone(granule);
    EndWrites(WriteOutcome::kGood);
  }
  // Only the granules that were dirty in the beginning.
  EXPECT_LE(resident_set_.counters().writes, writes + 16);
  EXPECT_EQ(resident_set_.counters().drops, drops + 30);
}

TEST_F(ResidentSetEvictTest, ZerosAreNotStored) {
  for (uint32_t granule = 0; granule < 40; ++granule) {
    EXPECT_EQ(Read(granule).find("write"), std::string::npos);
  }
  EXPECT_EQ(StateOf(0), ResidentSet::State::kZero);
  EXPECT_EQ(in_memory(), 16U);
}

class LargerResidentSetTest : public ResidentSetFixture {
 protected:
  LargerResidentSetTest() : ResidentSetFixture(1024, 128) {}
};

TEST_F(LargerResidentSetTest, AScanDoesNotEvictUsedGranules) {
  WriteAll(0, 90);
  for (uint32_t granule = 200; granule < 1000; granule += 10) {
    resident_set_.Used({0, 64});
    WriteAll(granule, granule + 10);
  }
  for (uint32_t granule = 0; granule < 64; ++granule) {
    EXPECT_EQ(StateOf(granule), ResidentSet::State::kDirty) << granule;
  }
}

// The program uses these granules without a request: the resident set finds out by unmapping them.
TEST_F(LargerResidentSetTest, UsedGranulesAreNotReadFromTheStore) {
  WriteAll(0, 64);
  for (uint32_t granule = 200; granule < 1000; ++granule) {
    WriteAll(granule, granule + 1);
    for (uint32_t used = 0; used < 64; ++used) {
      if (resident_set_.granule(used).cpu != Rights::kNone) continue;
      ASSERT_NE(StateOf(used), ResidentSet::State::kSwapped) << used << " at " << granule;
      Write(used);
      EndWrites(WriteOutcome::kGood);
    }
  }
  EXPECT_EQ(resident_set_.counters().reads, 0U);
  EXPECT_LT(resident_set_.counters().rescued, 300U);
}

TEST_F(ResidentSetEvictTest, ASmallerBudgetIsReachedByWriting) {
  SetBudget(32);
  WriteAll(0, 30);
  EXPECT_EQ(in_memory(), 30U);
  const std::string actions = SetBudget(16);
  EXPECT_EQ(actions, "unmap 0+3 cpu; write 0+3");
  for (uint32_t granule = 0; granule < 15; ++granule) {
    ASSERT_EQ(StateOf(granule), ResidentSet::State::kWriting);
    EXPECT_NE(WriteDone(granule).find("drop " + std::to_string(granule)), std::string::npos);
    if (in_memory() == 16) break;
  }
  EXPECT_EQ(in_memory(), 16U);
}

TEST_F(ResidentSetEvictTest, ALargerBudgetServesWaitingRequests) {
  FillMemory();
  EXPECT_EQ(Write(16), "unmap 1 cpu; write 1");
  EXPECT_EQ(resident_set_.counters().waits, 1U);
  EXPECT_EQ(SetBudget(20), "make zero 16; map 16 cpu writable; ready #16 16");
}

TEST_F(ResidentSetEvictTest, HasASmallestBudget) {
  SetBudget(0);
  EXPECT_EQ(resident_set_.budget(), kBudgetMin);
}

TEST_F(ResidentSetEvictTest, RequestsBeyondTheBudgetAllEnd) {
  WriteAll(0, 64);
  for (uint64_t ticket = 0; ticket < 8; ++ticket) {
    Ask(ticket, {static_cast<uint32_t>(ticket * 8), 8}, Need::kWrite, View::kAdapter);
  }
  for (int step = 0; step < 1000 && resident_set_.tickets_under_way() > 0; ++step) {
    const std::vector<Action> actions(resident_set_.actions().begin(),
                                      resident_set_.actions().end());
    resident_set_.ClearActions();
    for (const Action& action : actions) {
      for (uint32_t i = 0; i < action.run.count; ++i) {
        const uint32_t granule = action.run.first + i;
        if (action.verb == Verb::kRead) resident_set_.ReadDone(granule, ReadOutcome::kGood, now_);
        if (action.verb == Verb::kWrite)
          resident_set_.WriteDone(granule, WriteOutcome::kGood, now_);
      }
      EXPECT_LE(in_memory(), 16U);
    }
    now_ += Milliseconds(1);
    resident_set_.OnTime(now_);
  }
  EXPECT_EQ(resident_set_.tickets_under_way(), 0U);
  EXPECT_EQ(resident_set_.counters().refused_limit, 0U);
}

}  // namespace
}  // namespace verbena::paging
