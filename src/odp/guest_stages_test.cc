#include "odp/guest_stages.h"

#include <gtest/gtest.h>

#include "odp/page_jobs.h"
#include "tests/support/memory_fixture.h"

namespace verbena::odp {
namespace {

using memory::AccessKind;
using memory::AsFault;
using memory::kPage;
using memory::PhysicalAddress;
using memory::Stage;

// A guest with memory at kBase, and a region on all of it except the first page.
class GuestStagesTest : public memory::MemoryFixture {
 protected:
  static constexpr uint64_t kBase = 0x700000, kPages = 1'200;

  GuestStagesTest() { key_ = Register(kPage); }

  Key Register(uint64_t physical) {
    const auto keys = core_.regions.Register(
        {.pd = pd_,
         .start = KeyAddress(0),
         .length = kPages * kPage - physical,
         .rights = Access::kAll},
        memory::LinearBacking{.base = PhysicalAddress(physical), .guest = guest_});
    EXPECT_TRUE(memory::Succeeds(keys));
    return keys->local;
  }
  PageJob JobOf(uint64_t address, uint64_t length, AccessKind access = AccessKind::kLocalWrite) {
    const memory::Translation translation = Translate(key_, address, length, access);
    EXPECT_NE(AsFault(translation), nullptr);
    return JobFor(core_, {.qp = {}, .ticket = {}, .fault = *AsFault(translation)}, UINT64_MAX);
  }
  Stage StageAt(uint64_t address) {
    const memory::Translation translation = Translate(key_, address, 1, AccessKind::kLocalRead);
    EXPECT_NE(AsFault(translation), nullptr);
    return AsFault(translation)->stage;
  }

  const memory::GuestKey guest_ =
      *core_.guests.Create({.memory_bytes = kPages * kPage, .base = memory::MachineAddress(kBase)});
  Key key_;
};

TEST_F(GuestStagesTest, AJobOfEitherStageNamesTheMachineAddress) {
  PageJob job = JobOf(5 * kPage + 7, 3 * kPage);
  EXPECT_EQ(job.request.fault.stage, Stage::kFirst);
  EXPECT_EQ(job.address, kBase + 6 * kPage);
  EXPECT_EQ(job.page_count, 4U);
  ASSERT_TRUE(EnterFirstStage(core_, job, false));
  job = JobOf(5 * kPage + 7, 3 * kPage);
  EXPECT_EQ(job.request.fault.stage, Stage::kSecond);
  EXPECT_EQ(job.address, kBase + 6 * kPage);
  EXPECT_EQ(job.page_count, 4U);
  job.paged_in = 4;
  ASSERT_TRUE(EnterSecondStage(core_, job));
  EXPECT_EQ(PiecesOf(Translate(key_, 5 * kPage + 7, 3 * kPage, AccessKind::kLocalWrite)),
            (memory::Pieces{{kBase + 6 * kPage + 7, 3 * kPage}}));
}

// The first stage alone does not say that the page is in memory.
TEST_F(GuestStagesTest, APageOfAGuestIsNotMappedByItsFirstStage) {
  ASSERT_TRUE(EnterFirstStage(core_, JobOf(0, 1), true));
  const PageJob job = JobOf(0, 1);
  ASSERT_EQ(job.request.fault.stage, Stage::kSecond);
  EXPECT_FALSE(IsMapped(core_, job));
}

TEST_F(GuestStagesTest, TheFirstStageIsFilledToTheEndsOfItsLeaf) {
  ASSERT_TRUE(EnterFirstStage(core_, JobOf(600 * kPage, 1), true));
  EXPECT_EQ(StageAt(511 * kPage), Stage::kFirst);
  EXPECT_EQ(StageAt(512 * kPage), Stage::kSecond);
  EXPECT_EQ(StageAt(1'023 * kPage), Stage::kSecond);
  EXPECT_EQ(StageAt(1'024 * kPage), Stage::kFirst);
  ASSERT_TRUE(EnterFirstStage(core_, JobOf((kPages - 2) * kPage, 1), true));
  EXPECT_EQ(StageAt(1'024 * kPage), Stage::kSecond) << "the last leaf is shorter";
}

TEST_F(GuestStagesTest, WithoutWideningOnlyThePagesOfTheJobAreFilled) {
  ASSERT_TRUE(EnterFirstStage(core_, JobOf(600 * kPage, 2 * kPage), false));
  EXPECT_EQ(StageAt(599 * kPage), Stage::kFirst);
  EXPECT_EQ(StageAt(600 * kPage), Stage::kSecond);
  EXPECT_EQ(StageAt(601 * kPage), Stage::kSecond);
  EXPECT_EQ(StageAt(602 * kPage), Stage::kFirst);
}

// Row E11: a page that turns out to be present.
TEST_F(GuestStagesTest, PagesOfTheSecondStageAreCountedFromTheFirst) {
  PageJob job = JobOf(4 * kPage, 4 * kPage, AccessKind::kLocalRead);
  EXPECT_EQ(CountInSecondStage(core_, job), 0U);
  ASSERT_TRUE(Succeeds(core_.guests.MapInPlace(guest_, PhysicalAddress(5 * kPage), 2, false)));
  ASSERT_TRUE(Succeeds(core_.guests.MapInPlace(guest_, PhysicalAddress(8 * kPage), 1, true)));
  EXPECT_EQ(CountInSecondStage(core_, job), 2U);
  job.request.fault.for_write = true;
  EXPECT_EQ(CountInSecondStage(core_, job), 0U) << "they are read-only";
}

TEST_F(GuestStagesTest, AJobOfADestroyedGuestHasNoPages) {
  PageJob job = JobOf(0, kPage);
  ASSERT_TRUE(Succeeds(core_.guests.Destroy(guest_)));
  job.paged_in = 1;
  EXPECT_FALSE(EnterFirstStage(core_, job, true));
  EXPECT_FALSE(EnterSecondStage(core_, job));
  EXPECT_EQ(CountInSecondStage(core_, job), 0U);
  EXPECT_EQ(JobFor(core_, job.request, UINT64_MAX).page_count, 0U);
}

TEST_F(GuestStagesTest, AJobOfARegionThatHasMovedEntersNothing) {
  const PageJob job = JobOf(0, kPage);
  const auto moved = core_.regions.Reregister(
      key_,
      {.pd = pd_,
       .start = KeyAddress(0),
       .length = kPage,
       .rights = Access::kAll,
       .keep_keys = true},
      memory::Backing(memory::LinearBacking{.base = PhysicalAddress(2 * kPage), .guest = guest_}));
  ASSERT_TRUE(Succeeds(moved));
  ASSERT_EQ(moved->local, key_);
  EXPECT_FALSE(EnterFirstStage(core_, job, true));
  EXPECT_EQ(StageAt(0), Stage::kFirst);
  const auto native = core_.regions.Reregister(
      key_,
      {.pd = pd_,
       .start = KeyAddress(0),
       .length = kPage,
       .rights = Access::kAll,
       .keep_keys = true},
      memory::Backing(memory::LinearBacking{.base = PhysicalAddress(kPage), .guest = {}}));
  ASSERT_TRUE(Succeeds(native));
  EXPECT_EQ(JobFor(core_, job.request, UINT64_MAX).page_count, 0U);
}

// The guest's physical addresses end where its memory ends.
TEST_F(GuestStagesTest, MemoryBeyondTheGuestHasNoMachineAddress) {
  EXPECT_EQ(MachineAddressIn(core_, guest_, kPages * kPage - 1), kBase + kPages * kPage - 1);
  EXPECT_EQ(MachineAddressIn(core_, guest_, kPages * kPage), std::nullopt);
  EXPECT_EQ(MachineAddressIn(core_, memory::kHost, 0), std::nullopt);
}

}  // namespace
}  // namespace verbena::odp
