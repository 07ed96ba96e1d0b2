#include "paging/resident_set.h"

#include <gtest/gtest.h>

#include "tests/support/resident_set_fixture.h"

namespace verbena::paging {
namespace {

using ResidentSetTest = ResidentSetFixture;

TEST_F(ResidentSetTest, AReadOfUnwrittenMemoryGetsZeros) {
  EXPECT_EQ(PageIn(7, {3, 1}), "make zero 3; map 3 cpu; ready #7 3");
  EXPECT_EQ(resident_set_.granule(3),
            (ResidentSet::Granule{ResidentSet::State::kClean, Rights::kRead}));
}

TEST_F(ResidentSetTest, TheFirstWriteFaults) {
  Read(3);
  EXPECT_EQ(Write(3), "map 3 cpu writable; ready #3 3");
  EXPECT_EQ(resident_set_.granule(3),
            (ResidentSet::Granule{ResidentSet::State::kDirty, Rights::kWrite}));
}

TEST_F(ResidentSetTest, AReadOfADirtyGranuleMapsItWritable) {
  Write(3);
  EXPECT_EQ(PageIn(7, {3, 1}, Need::kRead, View::kAdapter), "map 3 adapter writable; ready #7 3");
}

TEST_F(ResidentSetTest, ARepeatedRequestMapsAgain) {
  Read(3);
  EXPECT_EQ(Read(3), "map 3 cpu; ready #3 3");
}

TEST_F(ResidentSetTest, ServesARunAtOnce) {
  EXPECT_EQ(PageIn(7, {3, 4}, Need::kWrite, View::kAdapter),
            "make zero 3+3; map 3+3 adapter writable; ready #7 3+3");
}

TEST_F(ResidentSetTest, ServesALongRunInParts) {
  EXPECT_EQ(PageIn(7, {3, 9}), "make zero 3+3; map 3+3 cpu; ready #7 3+3");
}

TEST_F(ResidentSetTest, WaitsForAllOfARun) {
  WriteAll(0, 32);
  EXPECT_EQ(StateOf(0), ResidentSet::State::kSwapped);
  EXPECT_EQ(PageIn(7, {0, 2}), "drop 16; unmap 17+1 cpu; write 17+1; read 0");
  EXPECT_EQ(ReadDone(0), "");
  EXPECT_EQ(WriteDone(17), "drop 17; read 1");
  EXPECT_EQ(ReadDone(1), "map 0+1 cpu; ready #7 0+1");
}

TEST_F(ResidentSetTest, AnswersAllWaitingRequests) {
  WriteAll(0, 32);
  PageIn(7, {0, 1});
  EXPECT_EQ(PageIn(8, {0, 1}, Need::kWrite, View::kAdapter), "");
  EXPECT_EQ(ReadDone(0),
            "map 0 adapter writable; ready #8 0; forget 0; map 0 cpu writable; ready #7 0");
  EXPECT_EQ(resident_set_.tickets_under_way(), 0U);
}

TEST_F(ResidentSetTest, ARequestThatNeedsNoMemoryOvertakes) {
  WriteAll(0, 15);
  // All memory is pinned by tickets that wait for the store, or in its minimum residency.
  for (uint32_t granule = 15; granule < 40; ++granule) {
    Ask(granule, {granule, 1}, Need::kWrite, View::kCpu);
    if (resident_set_.tickets_under_way() > 0) break;
  }
  Take();
  const uint64_t waiting = resident_set_.tickets_under_way();
  EXPECT_EQ(waiting, 1U);
  EXPECT_EQ(Read(14), "map 14 cpu writable; ready #14 14");
  EXPECT_EQ(resident_set_.tickets_under_way(), waiting);
}

TEST_F(ResidentSetTest, WaitingRequestsAreServedInOrder) {
  WriteAll(0, 15);
  uint32_t granule = 15;
  for (; resident_set_.tickets_under_way() < 2; ++granule) {
    Ask(granule, {granule, 1}, Need::kWrite, View::kCpu);
  }
  const uint32_t first = granule - 2;
  Take();
  const std::string answer = WriteDone(0);
  EXPECT_NE(answer.find("ready #" + std::to_string(first)), std::string::npos) << answer;
  EXPECT_EQ(answer.find("ready #" + std::to_string(first + 1)), std::string::npos) << answer;
}

TEST_F(ResidentSetTest, RefusesMoreTicketsThanItKeeps) {
  WriteAll(0, 32);
  for (uint64_t ticket = 1; ticket <= 8; ++ticket) PageIn(ticket, {0, 1});
  EXPECT_EQ(PageIn(9, {0, 1}), "refused #9 limit");
  EXPECT_EQ(resident_set_.counters().refused_limit, 1U);
}

// A copy whose source and destination both cross a border: four granules, one fault at a time.
TEST_F(ResidentSetTest, FourGranulesCanBeResidentTogether) {
  WriteAll(0, 48);
  for (const uint32_t granule : {0U, 5U, 10U, 15U}) {
    Ask(granule, {granule, 1}, Need::kRead, View::kCpu);
    EndWrites(WriteOutcome::kGood);
    resident_set_.ReadDone(granule, ReadOutcome::kGood, now_);
    EndWrites(WriteOutcome::kGood);
  }
  for (const uint32_t granule : {0U, 5U, 10U, 15U}) {
    EXPECT_EQ(resident_set_.granule(granule).cpu, Rights::kRead) << granule;
  }
}

// Otherwise a requester that has not used the granule yet would have to request it again and again.
TEST_F(ResidentSetTest, AnAnsweredGranuleStaysForTheMinimumResidency) {
  for (uint32_t granule = 0; granule < 16; ++granule) {
    resident_set_.PageIn(Ticket(granule), {granule, 1}, Need::kRead, View::kCpu, now_);
  }
  Take();
  resident_set_.PageIn(Ticket(16), {16, 1}, Need::kRead, View::kCpu, now_);
  EXPECT_EQ(Take(), "");
  EXPECT_EQ(resident_set_.next_time(), now_ + Milliseconds(1));
  EXPECT_EQ(OnTime(Microseconds(999)), "");
  EXPECT_EQ(OnTime(Microseconds(1)),
            "unmap 0+1 cpu; drop 0; make zero 16; map 16 cpu; ready #16 16");
}

TEST_F(ResidentSetTest, NothingIsDueWhileAllIsWell) {
  WriteAll(0, 32);
  EXPECT_EQ(resident_set_.next_time(), Time::Never());
  EXPECT_EQ(OnTime(Seconds(10)), "");
}

TEST_F(ResidentSetTest, UseKeepsAGranule) {
  WriteAll(0, 12);
  resident_set_.Used({0, 1});
  WriteAll(12, 24);
  EXPECT_EQ(StateOf(0), ResidentSet::State::kDirty);
  EXPECT_EQ(StateOf(1), ResidentSet::State::kSwapped);
}

TEST(ResidentSet, EvictsNothingThatFits) {
  ResidentSet resident_set(64, {.budget = 64});
  for (uint32_t granule = 0; granule < 64; ++granule) {
    resident_set.PageIn(Ticket(granule), {granule, 1}, Need::kWrite, View::kCpu, Time());
  }
  EXPECT_EQ(resident_set.counters().in_memory, 64U);
  EXPECT_EQ(resident_set.counters().unmapped, 0U);
}

TEST(ResidentSet, TakesALargeArena) {
  ResidentSet resident_set(GranuleTable::kGranulesMax, {.budget = 1U << 20});
  resident_set.PageIn(Ticket(1), {GranuleTable::kGranulesMax - 2, 2}, Need::kWrite, View::kCpu,
                      Time());
  EXPECT_EQ(resident_set.granule(GranuleTable::kGranulesMax - 1).state, ResidentSet::State::kDirty);
}

TEST(ResidentSetDeathTest, ChecksItsCaller) {
  ResidentSet resident_set(64, {.budget = 16});
  EXPECT_DEATH(resident_set.PageIn(Ticket(1), {63, 2}, Need::kRead, View::kCpu, Time()),
               "CHECK failed");
  EXPECT_DEATH(resident_set.PageIn(Ticket(1), {63, 0}, Need::kRead, View::kCpu, Time()),
               "CHECK failed");
  EXPECT_DEATH(resident_set.ReadDone(1, ReadOutcome::kGood, Time()), "CHECK failed");
  EXPECT_DEATH(resident_set.WriteDone(1, WriteOutcome::kGood, Time()), "CHECK failed");
}

}  // namespace
}  // namespace verbena::paging
