#include <gtest/gtest.h>

#include "paging/resident_set.h"
#include "tests/support/resident_set_fixture.h"

namespace verbena::paging {
namespace {

using ResidentSetStateTest = ResidentSetFixture;

TEST_F(ResidentSetStateTest, ReportsWhereEachGranuleIs) {
  EXPECT_EQ(StateOf(0), ResidentSet::State::kZero);
  WriteAll(0, 15);
  EXPECT_EQ(resident_set_.granule(14),
            (ResidentSet::Granule{ResidentSet::State::kDirty, Rights::kWrite}));
  Write(15);
  EXPECT_EQ(StateOf(0), ResidentSet::State::kWriting);
  WriteDone(0);
  EXPECT_EQ(StateOf(0), ResidentSet::State::kClean);
  Write(16);
  EXPECT_EQ(StateOf(0), ResidentSet::State::kSwapped);
  WriteDone(1);
  Read(0);
  EXPECT_EQ(StateOf(0), ResidentSet::State::kReading);
  ReadDone(0, ReadOutcome::kCorrupt);
  EXPECT_EQ(StateOf(0), ResidentSet::State::kBroken);
}

TEST_F(ResidentSetStateTest, Counts) {
  WriteAll(0, 20);
  Read(19);
  const Counters counters = resident_set_.counters();
  EXPECT_EQ(counters.requests, 21U);
  EXPECT_EQ(counters.zeros, 20U);
  EXPECT_EQ(counters.hits, 1U);
  EXPECT_EQ(counters.drops, 4U);
  EXPECT_EQ(counters.writes, 5U);
  EXPECT_EQ(counters.unmapped, 5U);
  EXPECT_EQ(counters.in_memory, 16U);
  EXPECT_EQ(counters.unwritable, 0U);
  EXPECT_EQ(counters.overrun_peak, 0U);
}

}  // namespace
}  // namespace verbena::paging
