#include <gtest/gtest.h>

#include "paging/resident_set.h"
#include "tests/support/resident_set_fixture.h"

namespace verbena::paging {
namespace {

class ResidentSetSwapOutTest : public ResidentSetFixture {
 protected:
  std::string SwapOut(uint64_t ticket, paging::Run run) {
    now_ += Milliseconds(1);  // the time that a request may have its granule
    resident_set_.SwapOut(Ticket(ticket), run, now_);
    return Take();
  }
  std::string SwapIn(uint64_t ticket) {
    resident_set_.SwapIn(Ticket(ticket), now_);
    return Take();
  }
};

TEST_F(ResidentSetSwapOutTest, GranulesThatAreNotInMemoryCountAtOnce) {
  EXPECT_EQ(SwapOut(1, {0, 8}), "swapped out #1 0+7");
}

TEST_F(ResidentSetSwapOutTest, ZerosAndCleanGranulesAreDroppedAtOnce) {
  Read(3);
  Read(4);
  EXPECT_EQ(SwapOut(1, {2, 4}), "unmap 3+1 cpu; drop 3+1; swapped out #1 2+3");
  EXPECT_EQ(StateOf(3), ResidentSet::State::kZero);
  EXPECT_EQ(in_memory(), 0U);
}

TEST_F(ResidentSetSwapOutTest, MoreCleanGranulesThanWritesLeaveWithoutAnotherInput) {
  for (uint32_t granule = 0; granule < 10; ++granule) Read(granule);
  EXPECT_EQ(SwapOut(1, {0, 10}),
            "unmap 0+3 cpu; drop 0+3; unmap 4+3 cpu; drop 4+3; unmap 8+1 cpu; drop 8+1; "
            "swapped out #1 0+9");
}

// Four writes can be in flight.
TEST_F(ResidentSetSwapOutTest, DirtyGranulesAreWrittenFirstAsManyAsTheStoreTakes) {
  WriteAll(0, 6);
  EXPECT_EQ(SwapOut(1, {0, 6}), "unmap 0+3 cpu; write 0+3");
  EXPECT_EQ(WriteDone(1), "") << "it leaves after its neighbour";
  EXPECT_EQ(WriteDone(0), "drop 0+1; unmap 4+1 cpu; write 4+1") << "several at a time";
  EXPECT_EQ(WriteDone(2), "drop 2");
  EXPECT_EQ(WriteDone(3), "drop 3");
  EXPECT_EQ(WriteDone(4), "drop 4");
  EXPECT_EQ(WriteDone(5), "drop 5; swapped out #1 0+5");
  for (uint32_t granule = 0; granule < 6; ++granule) {
    EXPECT_EQ(StateOf(granule), ResidentSet::State::kSwapped) << granule;
  }
}

TEST_F(ResidentSetSwapOutTest, GranulesWrittenTogetherAreDroppedTogether) {
  WriteAll(0, 6);
  SwapOut(1, {0, 6});
  resident_set_.WriteDone(paging::Run{0, 4}, WriteOutcome::kGood, now_);
  EXPECT_EQ(Take(), "drop 0+3; unmap 4+1 cpu; write 4+1");
  resident_set_.WriteDone(paging::Run{4, 2}, WriteOutcome::kGood, now_);
  EXPECT_EQ(Take(), "drop 4+1; swapped out #1 0+5");
}

TEST_F(ResidentSetSwapOutTest, BothViewsAreUnmapped) {
  PageIn(7, {0, 1}, Need::kWrite, View::kAdapter);
  Write(0);
  EXPECT_EQ(SwapOut(1, {0, 1}), "unmap 0 cpu; unmap 0 adapter; write 0");
}

TEST_F(ResidentSetSwapOutTest, GranulesOfARequestLeaveAfterIt) {
  WriteAll(0, 1);
  SwapOut(1, {0, 1});
  WriteDone(0);
  EXPECT_EQ(Read(0), "read 0");
  EXPECT_EQ(SwapOut(2, {0, 2}), "") << "a request waits for it";
  EXPECT_EQ(ReadDone(0), "map 0 cpu; ready #0 0") << "it has its time with it";
  EXPECT_EQ(resident_set_.next_time(), now_ + Milliseconds(1));
  EXPECT_EQ(OnTime(Milliseconds(1)), "unmap 0 cpu; drop 0; swapped out #2 0+1");
}

TEST_F(ResidentSetSwapOutTest, ARequestDuringASwapOutIsServed) {
  WriteAll(0, 2);
  EXPECT_EQ(SwapOut(1, {0, 2}), "unmap 0+1 cpu; write 0+1");
  EXPECT_EQ(Read(1), "map 1 cpu; ready #1 1");
  EXPECT_EQ(WriteDone(1), "");
  EXPECT_EQ(WriteDone(0), "drop 0");
  EXPECT_EQ(OnTime(Milliseconds(1)), "unmap 1 cpu; drop 1; swapped out #1 0+1")
      << "it leaves again when it is its turn";
}

// Each has left once, and that is all that is asked of it; but what is in memory was not given
// back.
TEST_F(ResidentSetSwapOutTest, GranulesPagedInAgainAreNotCounted) {
  WriteAll(0, 2);
  EXPECT_EQ(SwapOut(1, {0, 2}), "unmap 0+1 cpu; write 0+1");
  EXPECT_EQ(WriteDone(0), "drop 0");
  EXPECT_EQ(Read(0), "read 0");
  EXPECT_EQ(ReadDone(0), "map 0 cpu; ready #0 0");
  EXPECT_EQ(WriteDone(1), "drop 1; swapped out #1 0") << "one granule, and not two";
  EXPECT_EQ(in_memory(), 1U);
}

// While it is being read it uses memory already.
TEST_F(ResidentSetSwapOutTest, GranulesThatAreBeingPagedInAreNotCounted) {
  WriteAll(0, 3);
  EXPECT_EQ(SwapOut(1, {0, 3}), "unmap 0+2 cpu; write 0+2");
  EXPECT_EQ(WriteDone(0), "drop 0");
  EXPECT_EQ(WriteDone(1), "drop 1");
  EXPECT_EQ(Read(1), "read 1");
  EXPECT_EQ(WriteDone(2), "drop 2; swapped out #1 0+1") << "two granules of three";
}

TEST_F(ResidentSetSwapOutTest, AFailingStoreEndsTheSwapOut) {
  WriteAll(0, 2);
  EXPECT_EQ(SwapOut(1, {0, 2}), "unmap 0+1 cpu; write 0+1");
  EXPECT_EQ(WriteDone(0), "drop 0");
  EXPECT_EQ(WriteDone(1, WriteOutcome::kFull), "report store full; swapped out #1 0");
  EXPECT_EQ(StateOf(1), ResidentSet::State::kDirty) << "nothing is lost";
}

TEST_F(ResidentSetSwapOutTest, NothingIsReadAheadThereUntilItIsBack) {
  WriteAll(0, 8);
  SwapOut(1, {0, 8});
  EndWrites(WriteOutcome::kGood);
  SwapIn(1);
  SwapOut(2, {2, 6});
  Read(0);
  ReadDone(0);
  EXPECT_EQ(Read(1), "read 1") << "and nothing ahead of it";
  EXPECT_EQ(StateOf(2), ResidentSet::State::kSwapped);
  ReadDone(1);
  SwapIn(2);
  Read(2);
  EXPECT_EQ(StateOf(3), ResidentSet::State::kReading) << "ahead";
}

// Such a request was made before, because those for what is out wait outside.
TEST_F(ResidentSetSwapOutTest, WhatAnAdaptersRequestInLineBringsBackLeavesAgain) {
  WriteAll(0, 16);
  const uint64_t waits = resident_set_.counters().waits;
  uint32_t last = 39;
  for (uint64_t ticket = 100; resident_set_.counters().waits == waits; ++ticket) {
    PageIn(ticket, {++last, 1}, Need::kRead, View::kAdapter);
  }
  EXPECT_EQ(SwapOut(1, {last, kGranules - last}), "") << "it is not there, but will be";
  EXPECT_GT(resident_set_.next_time(), now_) << "the line goes on by itself";
  EndWrites(WriteOutcome::kGood);
  EXPECT_NE(StateOf(last), ResidentSet::State::kZero) << "the request has it";
  EXPECT_NE(OnTime(Milliseconds(1)).find("swapped out #1 " + std::to_string(last)),
            std::string::npos);
  EXPECT_EQ(StateOf(last), ResidentSet::State::kZero);
}

TEST_F(ResidentSetSwapOutTest, SwapInEndsWhatHasNotLeft) {
  WriteAll(0, 2);
  EXPECT_EQ(SwapOut(1, {0, 2}), "unmap 0+1 cpu; write 0+1");
  EXPECT_EQ(WriteDone(0), "drop 0");
  EXPECT_EQ(SwapIn(1), "swapped out #1 0");
  EXPECT_EQ(WriteDone(1), "") << "it stays until memory is needed";
  EXPECT_EQ(in_memory(), 1U);
  EXPECT_EQ(SwapIn(1), "") << "once only";
}

TEST_F(ResidentSetSwapOutTest, TwoSwapOutsAtOnceEnd) {
  WriteAll(0, 2);
  SwapOut(1, {0, 1});
  SwapOut(2, {0, 2});
  EXPECT_EQ(WriteDone(0), "drop 0; swapped out #1 0");
  EXPECT_EQ(WriteDone(1), "drop 1; swapped out #2 0+1");
}

}  // namespace
}  // namespace verbena::paging
