#include "memory/memory_core.h"

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kBase = 0x100000;
constexpr MachineAddress kFirst{kBase}, kLast{kBase + kPage - 1};

class MemoryCoreTest : public MemoryFixture {
 protected:
  Key ImplicitRegion(PdId pd) {
    const RegionSpec spec{.pd = pd, .start = KeyAddress(0), .length = kMax, .rights = Access::kAll};
    return core_.regions.Register(spec, AddressSpaceBacking{})->local;
  }
  // The second page of a guest.
  Key RegionOf(GuestKey guest) {
    const RegionSpec spec{
        .pd = pd_, .start = KeyAddress(0), .length = kPage, .rights = Access::kAll};
    const auto keys =
        core_.regions.Register(spec, LinearBacking{PhysicalAddress(0x1000), kSmall, guest});
    EXPECT_TRUE(Succeeds(core_.regions.MapPages(keys->local, 0, 1, std::nullopt, true)));
    return keys->local;
  }
  Translation Read(Key key, uint64_t address, PdId pd) const {
    return core_.translator.Translate(key, KeyAddress(address), 1, AccessKind::kLocalRead,
                                      {pd, me_.qp});
  }
  Stage StageOf(const Translation& translation) const {
    EXPECT_NE(AsFault(translation), nullptr);
    return AsFault(translation)->stage;
  }
};

// Row E9: all references to a page of machine memory are removed.
TEST_F(MemoryCoreTest, InvalidateMachineReachesRegionsPageTablesGuestsAndInvertedTables) {
  const RegionKeys linear = LinearRegion(kBase, 2 * kPage);
  const auto pages = Pages({kBase});
  const RegionSpec spec{.pd = pd_, .start = KeyAddress(0), .length = kPage, .rights = Access::kAll};
  const Key list = core_.regions.Register(spec, PageListBacking{pages, 0, kSmall})->local;

  const Key implicit = ImplicitRegion(pd_);
  ASSERT_TRUE(Succeeds(core_.consumers.MapLocalPage(OwnerOf(pd_), VirtualAddress(0x7000),
                                                    PhysicalAddress(kBase), true)));

  InvertedPageTable& inverted = core_.MakeInvertedPageTable(PhysicalAddress(kBase), 4);
  const PdId inverted_pd = MakeDomain({.table = &inverted});
  const Key by_inverted = ImplicitRegion(inverted_pd);
  ASSERT_TRUE(Succeeds(core_.consumers.MapLocalPage(OwnerOf(inverted_pd), VirtualAddress(0x7000),
                                                    PhysicalAddress(kBase), true)));

  const GuestKey guest = *core_.guests.Create({.memory_bytes = 4 * kPage});
  const Key in_guest = RegionOf(guest);
  ASSERT_TRUE(Succeeds(core_.guests.Map(guest, PhysicalAddress(0x1000), 1, kFirst, true)));

  EXPECT_TRUE(IsReady(Read(linear.local, kBase, pd_)));
  EXPECT_TRUE(IsReady(Read(list, 0, pd_)));
  EXPECT_TRUE(IsReady(Read(implicit, 0x7000, pd_)));
  EXPECT_TRUE(IsReady(Read(by_inverted, 0x7000, inverted_pd)));
  EXPECT_TRUE(IsReady(Read(in_guest, 0, pd_)));

  EXPECT_EQ(core_.InvalidateMachine(kFirst, kLast), 5u);
  EXPECT_EQ(StageOf(Read(linear.local, kBase, pd_)), Stage::kFirst);
  EXPECT_EQ(StageOf(Read(list, 0, pd_)), Stage::kFirst);
  EXPECT_EQ(StageOf(Read(implicit, 0x7000, pd_)), Stage::kFirst);
  EXPECT_EQ(StageOf(Read(by_inverted, 0x7000, inverted_pd)), Stage::kFirst);
  EXPECT_EQ(StageOf(Read(in_guest, 0, pd_)), Stage::kSecond);
  EXPECT_TRUE(IsReady(Read(linear.local, kBase + kPage, pd_)));  // the next page stays
  EXPECT_EQ(core_.InvalidateMachine(kFirst, kLast), 0u);
}

TEST_F(MemoryCoreTest, AbsentPagesOfAListKeepTheirAddress) {
  const RegionKeys linear = LinearRegion(kBase, 2 * kPage);
  const auto pages = Pages({kBase, kBase + kPage});
  const RegionSpec spec{
      .pd = pd_, .start = KeyAddress(0), .length = 2 * kPage, .rights = Access::kAll};
  const Key list = core_.regions.Register(spec, PageListBacking{pages, 0, kSmall})->local;
  const MachineAddress first(kBase), last(kBase + kPage - 1);
  EXPECT_TRUE(core_.IsNamed(first, last));
  EXPECT_EQ(core_.MarkMachineAbsent(first, last), 2u);
  EXPECT_EQ(core_.MarkMachineAbsent(first, last), 0u);
  EXPECT_NE(AsFault(Read(linear.local, kBase, pd_)), nullptr);
  EXPECT_NE(AsReady(Read(linear.local, kBase + kPage, pd_)), nullptr);
  EXPECT_NE(AsFault(Read(list, 0, pd_)), nullptr);
  EXPECT_NE(AsReady(Read(list, kPage, pd_)), nullptr);

  EXPECT_TRUE(Succeeds(core_.regions.MapPages(list, 0, 1, std::nullopt, false)));
  const Translation back = Read(list, 0, pd_);
  ASSERT_NE(AsReady(back), nullptr);
  EXPECT_EQ(AsReady(back)->spans[0].address, first);

  // An absent page with an address ends with its memory, and with its region.
  EXPECT_EQ(core_.MarkMachineAbsent(first, last), 1u);
  EXPECT_EQ(core_.InvalidateMachine(first, last), 0u);
  EXPECT_FALSE(Succeeds(core_.regions.MapPages(list, 0, 1, std::nullopt, false)));
  EXPECT_EQ(
      core_.MarkMachineAbsent(MachineAddress(kBase + kPage), MachineAddress(kBase + 2 * kPage - 1)),
      2u);
  EXPECT_TRUE(core_.IsConsistent());
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(linear.local)));
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(list)));
  EXPECT_FALSE(core_.IsNamed(first, last));
  EXPECT_TRUE(core_.IsConsistent());
}

TEST_F(MemoryCoreTest, InvalidateGuestPhysicalReachesThatGuestsFirstStageOnly) {
  const GuestKey guest = *core_.guests.Create({.memory_bytes = 4 * kPage});
  const Key in_guest = RegionOf(guest);
  ASSERT_TRUE(Succeeds(core_.guests.Map(guest, PhysicalAddress(0x1000), 1, kFirst, true)));
  const RegionKeys host = LinearRegion(0x1000, kPage);
  EXPECT_EQ(core_.InvalidateGuestPhysical(guest, PhysicalAddress(0x1fff), PhysicalAddress(0x1fff)),
            1u);
  EXPECT_EQ(StageOf(Read(in_guest, 0, pd_)), Stage::kFirst);
  EXPECT_TRUE(IsReady(Read(host.local, 0x1000, pd_)));
  EXPECT_TRUE(core_.guests.Find(guest)->pages->Find(1).present());
}

TEST_F(MemoryCoreTest, InvalidateServesRegionsAndWindows) {
  const RegionKeys region = LinearRegion(kBase, kPage);
  const auto window = core_.windows.Bind(*core_.windows.Allocate(pd_, WindowType::k2B),
                                         {.region = region.local,
                                          .start = KeyAddress(kBase),
                                          .length = 8,
                                          .rights = Access::kRemoteRead,
                                          .variant = KeyVariant(9)},
                                         me_);
  ASSERT_TRUE(Succeeds(window));
  EXPECT_TRUE(Succeeds(core_.Invalidate(*window, Origin::kRemote, me_)));
  EXPECT_TRUE(IsRefused(Translate(*window, kBase, 8, AccessKind::kRemoteRead), Refusal::kNotValid));

  const auto pages = Pages({kBase});
  const RegionSpec spec{.pd = pd_, .start = KeyAddress(0), .length = kPage, .rights = Access::kAll};
  const Key reserved = core_.regions.Reserve(pd_, 1, kSmall)->local;
  ASSERT_TRUE(Succeeds(
      core_.regions.RegisterReserved(reserved, spec, PageListBacking{pages, 0, kSmall}, me_)));
  EXPECT_TRUE(Succeeds(core_.Invalidate(reserved, Origin::kLocal, me_)));
  EXPECT_TRUE(
      FailsWith(core_.Invalidate(region.local, Origin::kLocal, me_), Refusal::kNotInvalidable));
  EXPECT_TRUE(FailsWith(core_.Invalidate(Key(1), Origin::kLocal, me_), Refusal::kNoSuchKey));
}

TEST_F(MemoryCoreTest, RetiredKeysBecomeFreeAfterTheirQuarantine) {
  MemoryCore core(MemoryOptions{.key_slots_max = 2, .key_quarantine = Seconds(1)});
  const PdId pd = *core.domains.Allocate(*core.consumers.Open({}));
  const auto full = [&] { return !core.windows.Allocate(pd, WindowType::k1).has_value(); };
  while (core.table.retired_count() == 0) {
    ASSERT_TRUE(Succeeds(core.windows.Deallocate(*core.windows.Allocate(pd, WindowType::k1))));
  }
  EXPECT_TRUE(full());
  core.AdvanceTo(Time(Seconds(1) - Nanoseconds(1)));
  EXPECT_TRUE(full());
  core.AdvanceTo(Time(Seconds(1)));
  EXPECT_FALSE(full());
  EXPECT_TRUE(core.IsConsistent());
}

TEST_F(MemoryCoreTest, AllObjectsCanBeRemoved) {
  const RegionKeys region = LinearRegion(kBase, kPage);
  const ConsumerId owner = OwnerOf(pd_);
  EXPECT_TRUE(FailsWith(core_.domains.Deallocate(pd_), MemoryError::kInUse));
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(region.local)));
  ASSERT_TRUE(Succeeds(core_.domains.Deallocate(pd_)));
  ASSERT_TRUE(Succeeds(core_.consumers.Close(owner)));
  EXPECT_EQ(core_.translations.table_count(), 0u);
  EXPECT_EQ(core_.translations.reverse_record_count(), 0u);
  EXPECT_EQ(core_.table.live_count(), 0u);
}

// As if other memory had been mapped at the addresses of a region.
TEST_F(MemoryCoreTest, ForbiddenPagesAreAbsentInAllLists) {
  const RegionKeys linear = LinearRegion(0x10'0000, 2 * kPage);
  const auto pages = Pages({0x10'1000});
  const RegionSpec spec{.pd = pd_, .start = KeyAddress(0), .length = kPage, .rights = kLocal};
  const auto listed = core_.regions.Register(spec, PageListBacking{pages, 0, kSmall});
  ASSERT_TRUE(Succeeds(listed));
  core_.ForbidInLists(MachineAddress(0x10'1000), MachineAddress(0x10'1FFF));
  EXPECT_TRUE(IsReady(Translate(linear.local, 0x10'0000, kPage, AccessKind::kLocalRead)));
  EXPECT_NE(AsFault(Translate(linear.local, 0x10'1000, 1, AccessKind::kLocalRead)), nullptr);
  EXPECT_NE(AsFault(Translate(listed->local, 0, 1, AccessKind::kLocalRead)), nullptr);
  // As contiguous memory it can be mapped like any other.
  EXPECT_TRUE(Succeeds(core_.regions.MapPages(linear.local, 1, 1, std::nullopt, true)));
}

}  // namespace
}  // namespace verbena::memory
