#include <gtest/gtest.h>

#include "paging/ledger.h"
#include "tests/support/ledger_fixture.h"

namespace verbena::paging {
namespace {

using LedgerStateTest = LedgerFixture;

TEST_F(LedgerStateTest, TellsWhereEachGranuleIs) {
  EXPECT_EQ(StateOf(0), Ledger::State::kZero);
  WriteAll(0, 15);
  EXPECT_EQ(ledger_.granule(14), (Ledger::Granule{Ledger::State::kDirty, Rights::kWrite}));
  Write(15);
  EXPECT_EQ(StateOf(0), Ledger::State::kWriting);
  WriteDone(0);
  EXPECT_EQ(StateOf(0), Ledger::State::kClean);
  Write(16);
  EXPECT_EQ(StateOf(0), Ledger::State::kSwapped);
  WriteDone(1);
  Read(0);
  EXPECT_EQ(StateOf(0), Ledger::State::kReading);
  ReadDone(0, ReadOutcome::kCorrupt);
  EXPECT_EQ(StateOf(0), Ledger::State::kBroken);
}

TEST_F(LedgerStateTest, Counts) {
  WriteAll(0, 20);
  Read(19);
  const Counters counters = ledger_.counters();
  EXPECT_EQ(counters.wants, 21U);
  EXPECT_EQ(counters.zeros, 20U);
  EXPECT_EQ(counters.hits, 1U);
  EXPECT_EQ(counters.drops, 4U);
  EXPECT_EQ(counters.writes, 5U);
  EXPECT_EQ(counters.parted, 5U);
  EXPECT_EQ(counters.in_memory, 16U);
  EXPECT_EQ(counters.unwritable, 0U);
  EXPECT_EQ(counters.overrun_peak, 0U);
}

}  // namespace
}  // namespace verbena::paging
