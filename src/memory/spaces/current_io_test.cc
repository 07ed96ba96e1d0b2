#include "memory/spaces/current_io.h"

#include <gtest/gtest.h>

namespace verbena::memory {
namespace {

using BeginResult = CurrentIo::BeginResult;
using EndResult = CurrentIo::EndResult;
using InterestResult = CurrentIo::InterestResult;
using QuiesceResult = CurrentIo::QuiesceResult;
using ResumeResult = CurrentIo::ResumeResult;

class CurrentIoTest : public testing::Test {
 protected:
  CurrentIo::Word word_{0};
  CurrentIo io_{word_};
};

TEST_F(CurrentIoTest, CountsOperations) {
  EXPECT_EQ(io_.Begin(), BeginResult::kStarted);
  EXPECT_EQ(io_.Begin(2), BeginResult::kStarted);
  EXPECT_EQ(word_, 3u);
  EXPECT_EQ(io_.End(), EndResult::kMore);
  EXPECT_EQ(io_.End(2), EndResult::kMore);
  EXPECT_EQ(word_, 0u);
}

TEST_F(CurrentIoTest, IdleRegionIsQuiescedAtOnce) {
  EXPECT_FALSE(io_.IsIdle());
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kIdle);
  EXPECT_TRUE(io_.IsIdle());
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kAlreadyQuiesced);
}

TEST_F(CurrentIoTest, BusyRegionIsQuiescedByItsLastEnd) {
  EXPECT_EQ(io_.Begin(2), BeginResult::kStarted);
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kBusy);
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kAlreadyQuiesced);
  EXPECT_FALSE(io_.IsIdle());
  EXPECT_EQ(io_.End(), EndResult::kMore);
  EXPECT_FALSE(io_.IsIdle());
  EXPECT_EQ(io_.End(), EndResult::kLastWhileQuiesced);
  EXPECT_TRUE(io_.IsIdle());
}

TEST_F(CurrentIoTest, NothingStartsWhileQuiesced) {
  EXPECT_EQ(io_.Begin(), BeginResult::kStarted);
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kBusy);
  EXPECT_EQ(io_.Begin(), BeginResult::kQuiesced);
  EXPECT_EQ(io_.End(), EndResult::kLastWhileQuiesced);
  EXPECT_EQ(io_.Begin(), BeginResult::kQuiesced);
  EXPECT_TRUE(io_.IsIdle());
  EXPECT_EQ(io_.Resume(), ResumeResult::kNoWaiter);
  EXPECT_EQ(io_.Begin(), BeginResult::kStarted);
}

TEST_F(CurrentIoTest, InterestIsHandedOverOnce) {
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kIdle);
  EXPECT_FALSE(io_.HasInterest());
  EXPECT_EQ(io_.RegisterInterest(), InterestResult::kRegistered);
  EXPECT_EQ(io_.RegisterInterest(), InterestResult::kRegistered);
  EXPECT_TRUE(io_.HasInterest());
  EXPECT_TRUE(io_.IsIdle());
  EXPECT_EQ(io_.Resume(), ResumeResult::kWakeConsumer);
  EXPECT_EQ(io_.Resume(), ResumeResult::kNoWaiter);
  EXPECT_EQ(word_, 0u);
}

TEST_F(CurrentIoTest, InterestAfterResumeLeavesNoTrace) {
  EXPECT_EQ(io_.RegisterInterest(), InterestResult::kResumed);
  EXPECT_EQ(word_, 0u);
}

TEST_F(CurrentIoTest, LastEndReportsWithInterestRegistered) {
  EXPECT_EQ(io_.Begin(), BeginResult::kStarted);
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kBusy);
  EXPECT_EQ(io_.RegisterInterest(), InterestResult::kRegistered);
  EXPECT_EQ(io_.End(), EndResult::kLastWhileQuiesced);
  EXPECT_EQ(io_.Resume(), ResumeResult::kWakeConsumer);
}

// The hypervisor changes its mind before the region is idle.
TEST_F(CurrentIoTest, ResumeKeepsTheOutstandingCount) {
  EXPECT_EQ(io_.Begin(), BeginResult::kStarted);
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kBusy);
  EXPECT_EQ(io_.Resume(), ResumeResult::kNoWaiter);
  EXPECT_EQ(io_.Begin(), BeginResult::kStarted);
  EXPECT_EQ(io_.End(2), EndResult::kMore);
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kIdle);
}

// The call of an earlier quiesce arrives when the region is quiesced again, and busy.
TEST_F(CurrentIoTest, LateCallIsSeenThrough) {
  EXPECT_EQ(io_.Begin(), BeginResult::kStarted);
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kBusy);
  EXPECT_EQ(io_.End(), EndResult::kLastWhileQuiesced);
  EXPECT_EQ(io_.Resume(), ResumeResult::kNoWaiter);
  EXPECT_FALSE(io_.IsIdle());
  EXPECT_EQ(io_.Begin(), BeginResult::kStarted);
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kBusy);
  EXPECT_FALSE(io_.IsIdle());
}

TEST_F(CurrentIoTest, CountIsRefusedAtItsLimitAndNotWrapped) {
  EXPECT_EQ(io_.Begin(CurrentIo::kOutstandingMax - 1), BeginResult::kStarted);
  EXPECT_EQ(io_.Begin(2), BeginResult::kTooMany);
  EXPECT_EQ(io_.Begin(CurrentIo::kOutstandingMax), BeginResult::kTooMany);
  EXPECT_EQ(io_.Begin(), BeginResult::kStarted);
  EXPECT_EQ(io_.Begin(), BeginResult::kTooMany);
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kBusy);
  EXPECT_EQ(io_.End(CurrentIo::kOutstandingMax), EndResult::kLastWhileQuiesced);
}

TEST_F(CurrentIoTest, TwoViewsShareTheWord) {
  CurrentIo hypervisor(word_);
  EXPECT_EQ(hypervisor.Quiesce(), QuiesceResult::kIdle);
  EXPECT_EQ(io_.Begin(), BeginResult::kQuiesced);
}

// A consumer can write anything into the word; the hypervisor must live with it.
TEST_F(CurrentIoTest, HypervisorAcceptsAnyWord) {
  word_ = ~uint64_t{0};
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kAlreadyQuiesced);
  EXPECT_FALSE(io_.IsIdle());
  EXPECT_EQ(io_.Resume(), ResumeResult::kWakeConsumer);
  EXPECT_EQ(io_.Quiesce(), QuiesceResult::kBusy);
}

TEST_F(CurrentIoTest, EndWithoutBeginIsRefusedAndChangesNothing) {
  EXPECT_EQ(io_.End(), EndResult::kNotBegun);
  EXPECT_EQ(io_.Begin(2), BeginResult::kStarted);
  EXPECT_EQ(io_.End(3), EndResult::kNotBegun);
  EXPECT_EQ(io_.End(0), EndResult::kNotBegun);
  EXPECT_EQ(word_, 2u);
}

}  // namespace
}  // namespace verbena::memory
