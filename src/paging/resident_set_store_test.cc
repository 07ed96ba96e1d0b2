#include <gtest/gtest.h>

#include "paging/resident_set.h"
#include "tests/support/resident_set_fixture.h"

namespace verbena::paging {
namespace {

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class ResidentSetStoreTest : public ResidentSetFixture {
 protected:
  // Writes granules 0 to 31; those below 16 are stored and dropped.
  void StoreSome() {
    WriteAll(0, 32);
    ASSERT_EQ(StateOf(0), ResidentSet::State::kSwapped);
    ASSERT_EQ(StateOf(15), ResidentSet::State::kSwapped);
  }
  // Requests new granules until a request has to wait; returns its granule.
  uint32_t WantUntilOneWaits(uint32_t first) {
    for (uint32_t granule = first; granule < kGranules; ++granule) {
      Ask(granule, {granule, 1}, Need::kWrite, View::kCpu);
      EndWrites(outcome_);
      if (resident_set_.tickets_under_way() > 0) return granule;
    }
    ADD_FAILURE() << "no request waits";
    return 0;
  }

  WriteOutcome outcome_ = WriteOutcome::kFull;
};

TEST_F(ResidentSetStoreTest, ACorruptGranuleIsBroken) {
  StoreSome();
  Read(0);
  EXPECT_TRUE(Has(ReadDone(0, ReadOutcome::kCorrupt), "refused #0 broken; drop 0"));
  EXPECT_EQ(StateOf(0), ResidentSet::State::kBroken);
  EXPECT_EQ(Write(0), "refused #0 broken");
  EXPECT_EQ(resident_set_.counters().refused_broken, 2U);
  EXPECT_EQ(resident_set_.counters().broken, 1U);
}

TEST_F(ResidentSetStoreTest, ARunEndsBeforeABrokenGranule) {
  StoreSome();
  Ask(7, {0, 3}, Need::kRead, View::kAdapter);
  EndWrites(WriteOutcome::kGood);
  ReadDone(1, ReadOutcome::kCorrupt);
  ReadDone(2);
  EXPECT_TRUE(Has(ReadDone(0), "map 0 adapter; ready #7 0;"));
  EXPECT_EQ(StateOf(1), ResidentSet::State::kBroken);
  EXPECT_EQ(PageIn(8, {0, 3}), "map 0 cpu; ready #8 0");
  EXPECT_EQ(PageIn(9, {1, 2}), "refused #9 broken");
}

TEST_F(ResidentSetStoreTest, ADiscardedGranuleIsNoLongerBroken) {
  StoreSome();
  Read(0);
  ReadDone(0, ReadOutcome::kCorrupt);
  EXPECT_EQ(Discard({0, 1}), "forget 0");
  EXPECT_TRUE(Has(Read(0), "make zero 0; map 0 cpu; ready #0 0"));
}

TEST_F(ResidentSetStoreTest, AFailedReadIsTriedAgain) {
  StoreSome();
  Read(0);
  EXPECT_EQ(ReadDone(0, ReadOutcome::kFailed), "");
  EXPECT_EQ(resident_set_.next_time(), now_ + Milliseconds(10));
  EXPECT_EQ(OnTime(Milliseconds(9)), "");
  EXPECT_EQ(OnTime(Milliseconds(1)), "read 0");
  EXPECT_EQ(ReadDone(0), "map 0 cpu; ready #0 0");
}

TEST_F(ResidentSetStoreTest, AGranuleThatCannotBeReadIsBroken) {
  StoreSome();
  Read(0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ReadDone(0, ReadOutcome::kFailed), "");
    EXPECT_EQ(OnTime(Milliseconds(20)), "read 0");
  }
  EXPECT_EQ(ReadDone(0, ReadOutcome::kFailed), "refused #0 broken; drop 0");
  EXPECT_EQ(StateOf(0), ResidentSet::State::kBroken);
}

TEST_F(ResidentSetStoreTest, AGranuleThatCannotBeWrittenStays) {
  WriteAll(0, 15);
  Write(15);
  EXPECT_EQ(WriteDone(0, WriteOutcome::kFull), "report store full");
  EXPECT_EQ(StateOf(0), ResidentSet::State::kDirty);
  EXPECT_EQ(resident_set_.counters().unwritable, 1U);
  EXPECT_EQ(OnTime(Milliseconds(10)), "write 0");
  EXPECT_EQ(WriteDone(0), "");
  EXPECT_EQ(StateOf(0), ResidentSet::State::kClean);
}

TEST_F(ResidentSetStoreTest, ReadsMayExceedTheBudgetByAFewGranules) {
  WriteAll(0, 15);
  const uint32_t waiting = WantUntilOneWaits(15);
  EXPECT_EQ(waiting, 16U);  // no more granules can become dirty
  EXPECT_EQ(in_memory(), 16U);
  SetBudget(17);  // the request is served and leaves the line
  for (uint32_t granule = 20; granule < 40; ++granule) {
    EXPECT_TRUE(Has(Read(granule), "ready")) << granule;
    EndWrites(outcome_);
  }
  EXPECT_EQ(in_memory(), 17U + 8U);
  EXPECT_EQ(resident_set_.counters().overrun_peak, 8U);
  EXPECT_EQ(Write(0), "map 0 cpu writable; ready #0 0");  // was dirty before
}

TEST_F(ResidentSetStoreTest, RequestsThatWaitForAFullStoreAreRefusedAfterTheirPatience) {
  WriteAll(0, 15);
  const Time start = now_;
  const uint32_t waiting = WantUntilOneWaits(15);
  Take();
  std::string answer;
  while (answer.find("refused") == std::string::npos && now_ < start + Seconds(10)) {
    ASSERT_NE(resident_set_.next_time(), Time::Never());
    now_ = std::max(now_, resident_set_.next_time());
    resident_set_.OnTime(now_);
    for (const Action& action : resident_set_.actions()) answer += ToString(action) + ";";
    EndWrites(WriteOutcome::kFull);
    answer += Take();
  }
  EXPECT_TRUE(Has(answer, "refused #" + std::to_string(waiting) + " limit")) << answer;
  EXPECT_GE(now_, start + Seconds(1));
  EXPECT_LE(now_, start + Seconds(3));
  // The next request is refused at once.
  EXPECT_TRUE(Has(Write(waiting), "refused"));
  // Granules in memory are served as before.
  EXPECT_TRUE(Has(Read(0), "ready #0 0"));
}

TEST_F(ResidentSetStoreTest, ARecoveredStoreIsReported) {
  WriteAll(0, 15);
  const uint32_t waiting = WantUntilOneWaits(15);
  Take();
  std::string answer;
  for (uint32_t i = 0; i < 40; ++i) {
    answer += OnTime(Milliseconds(1));
    answer += Write(20 + i);  // gets only memory that must be evicted
    for (uint32_t granule = 0; granule < kGranules; ++granule) {
      if (StateOf(granule) == ResidentSet::State::kWriting) answer += WriteDone(granule);
    }
  }
  EXPECT_TRUE(Has(answer, "report store well")) << answer;
  EXPECT_TRUE(Has(answer, "ready #" + std::to_string(waiting)));
  EXPECT_EQ(in_memory(), 16U);
  EXPECT_EQ(resident_set_.counters().unwritable, 0U);
}

TEST_F(ResidentSetStoreTest, RoomInTheStoreIsUsedAtOnce) {
  WriteAll(0, 20);
  ASSERT_EQ(StateOf(0), ResidentSet::State::kSwapped);
  WantUntilOneWaits(20);
  Take();
  EXPECT_TRUE(Has(Discard({0, 1}), "write"));
}

TEST_F(ResidentSetStoreTest, DiscardsContentsInAnyState) {
  StoreSome();
  EXPECT_EQ(Discard({0, 2}), "forget 0+1");
  EXPECT_EQ(StateOf(0), ResidentSet::State::kZero);
  EXPECT_EQ(Discard({31, 1}), "unmap 31 cpu; drop 31");
  EXPECT_EQ(Discard({60, 4}), "");
  const uint32_t before = in_memory();
  Read(2);
  EXPECT_EQ(in_memory(), before + 1);
}

TEST_F(ResidentSetStoreTest, DiscardsDuringAWrite) {
  WriteAll(0, 15);
  Write(15);
  ASSERT_EQ(StateOf(0), ResidentSet::State::kWriting);
  EXPECT_EQ(Discard({0, 1}), "");
  EXPECT_EQ(Read(0), "unmap 1 cpu; write 1");  // not while the store reads the memory
  EXPECT_EQ(WriteDone(0), "forget 0; drop 0; make zero 0; map 0 cpu; ready #0 0");
}

TEST_F(ResidentSetStoreTest, DiscardsDuringARead) {
  StoreSome();
  PageIn(7, {0, 1}, Need::kWrite);
  EXPECT_EQ(Discard({0, 1}), "");
  EXPECT_EQ(ReadDone(0, ReadOutcome::kCorrupt),
            "forget 0; drop 0; make zero 0; map 0 cpu writable; ready #7 0");
}

TEST_F(ResidentSetStoreTest, DiscardsBeforeARepeatedRead) {
  StoreSome();
  Read(0);
  ReadDone(0, ReadOutcome::kFailed);
  EXPECT_EQ(Discard({0, 1}), "forget 0; drop 0; make zero 0; map 0 cpu; ready #0 0");
}

TEST_F(ResidentSetStoreTest, DiscardsAllBeforeItMapsAny) {
  StoreSome();
  PageIn(7, {0, 2}, Need::kWrite, View::kAdapter);
  EndWrites(WriteOutcome::kGood);
  ReadDone(0, ReadOutcome::kFailed);
  ReadDone(1);
  EXPECT_EQ(Discard({0, 2}),
            "forget 0; drop 0; make zero 0; forget 1; drop 1; make zero 1; "
            "map 0+1 adapter writable; ready #7 0+1");
}

TEST_F(ResidentSetStoreTest, DiscardsWhatATicketHolds) {
  StoreSome();
  Ask(7, {0, 2}, Need::kRead, View::kCpu);
  EndWrites(WriteOutcome::kGood);
  ReadDone(0);
  EXPECT_EQ(Discard({0, 1}), "forget 0; drop 0; make zero 0");
  EXPECT_EQ(ReadDone(1), "map 0+1 cpu; ready #7 0+1");
  EXPECT_EQ(StateOf(0), ResidentSet::State::kClean);
}

class ResidentSetReadAheadTest : public ResidentSetFixture {
 protected:
  ResidentSetReadAheadTest() : ResidentSetFixture(1024, 256) {}

  void SetUp() override {
    WriteAll(0, 1024);
    ASSERT_EQ(StateOf(0), ResidentSet::State::kSwapped);
  }
  // Requests one granule, and completes its read and the read-ahead.
  std::string ReadOne(uint32_t granule) {
    const std::string answer = Read(granule);
    for (uint32_t i = 0; i < 64; ++i) {
      if (StateOf(granule + i) == ResidentSet::State::kReading) ReadDone(granule + i);
    }
    return answer;
  }
};

TEST_F(ResidentSetReadAheadTest, ReadsAheadOfASequence) {
  for (uint32_t granule = 0; granule < 64; ++granule) {
    ReadOne(granule);
    EndWrites(WriteOutcome::kGood);
  }
  const Counters counters = resident_set_.counters();
  EXPECT_GE(counters.ahead_hits, 60U);
  EXPECT_EQ(counters.ahead_wastes, 0U);
}

TEST_F(ResidentSetReadAheadTest, ReadsAsOneRun) {
  ReadOne(0);
  const std::string answer = ReadOne(1);
  EXPECT_TRUE(Has(answer, "read 1+1")) << answer;
  EXPECT_EQ(resident_set_.granule(2), (ResidentSet::Granule{.state = ResidentSet::State::kClean}));
  EXPECT_EQ(ReadOne(2).substr(0, 23), "map 2 cpu; ready #2 2; ");
  EXPECT_EQ(resident_set_.counters().ahead_hits, 1U);
}

TEST_F(ResidentSetReadAheadTest, AFailedReadAheadIsDropped) {
  ReadOne(0);
  Read(1);
  ReadDone(1);
  EXPECT_EQ(ReadDone(2, ReadOutcome::kFailed), "drop 2");
  EXPECT_EQ(StateOf(2), ResidentSet::State::kSwapped);
  EXPECT_EQ(resident_set_.counters().ahead_wastes, 1U);
}

TEST_F(ResidentSetReadAheadTest, StopsAtTheEndOfTheArenaAndAtGranulesThatAreNotStored) {
  Discard({12, 1});
  ReadOne(10);
  const std::string answer = ReadOne(11);
  EXPECT_EQ(StateOf(12), ResidentSet::State::kZero) << answer;
  EXPECT_EQ(resident_set_.counters().reads_ahead, 0U);
}

}  // namespace
}  // namespace verbena::paging
