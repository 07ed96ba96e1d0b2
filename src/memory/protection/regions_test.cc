#include "memory/protection/regions.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kBase = 0x100000;
constexpr uint64_t kTiB = uint64_t{1} << 40;

class RegionsTest : public MemoryFixture {
 protected:
  explicit RegionsTest(const MemoryOptions& options = {}) : MemoryFixture(options) {}

  RegionSpec Spec(uint64_t start, uint64_t length, Access rights = Access::kAll) const {
    return {.pd = pd_, .start = KeyAddress(start), .length = length, .rights = rights};
  }
  MemoryResult<RegionKeys> Register(const RegionSpec& spec, const Backing& backing) {
    return core_.regions.Register(spec, backing);
  }
  void ExpectRefused(const RegionSpec& spec, const Backing& backing, MemoryError error) {
    ExpectUnchanged([&] { EXPECT_TRUE(FailsWith(Register(spec, backing), error)); });
  }
  static LinearBacking Linear(uint64_t base, PageShift shift = kSmall) {
    return {PhysicalAddress(base), shift};
  }
};

TEST_F(RegionsTest, ALinearRegionHasNoPresentPagesAtFirst) {
  const auto keys = Register(Spec(kBase + 5, 3 * kPage), Linear(kBase + 5));
  ASSERT_TRUE(Succeeds(keys));
  const ProtectionEntry& entry = EntryOf(keys->local);
  EXPECT_EQ(entry.table->page_count(), 4u);
  EXPECT_EQ(core_.translations.BytesOf(*entry.table), sizeof(TranslationTable));
  const Translation absent = Translate(keys->local, kBase + 5, 3 * kPage, AccessKind::kLocalRead);
  ASSERT_NE(AsFault(absent), nullptr);
  EXPECT_EQ(AsFault(absent)->page_count, 4u);
  ASSERT_TRUE(Succeeds(core_.regions.MapPages(keys->local, 0, 4, std::nullopt, true)));
  EXPECT_EQ(PiecesOf(Translate(keys->local, kBase + 5, 3 * kPage, AccessKind::kLocalRead)),
            (Pieces{{kBase + 5, 3 * kPage}}));
}

TEST_F(RegionsTest, APageListUsesItsFirstAndLastPagePartly) {
  const auto pages = Pages({0x9000, 0x3000, 0x4000});
  const auto keys = Register(Spec(0x777, 2 * kPage), PageListBacking{pages, 0xf00, kSmall});
  ASSERT_TRUE(Succeeds(keys));
  EXPECT_EQ(PiecesOf(Translate(keys->local, 0x777, 2 * kPage, AccessKind::kLocalWrite)),
            (Pieces{{0x9f00, 0x100}, {0x3000, 2 * kPage - 0x100}}));
  EXPECT_TRUE(IsRefused(Translate(keys->local, 0x777, 2 * kPage + 1, AccessKind::kLocalWrite),
                        Refusal::kOutOfRange));
}

TEST_F(RegionsTest, PageSizesRunFrom4KiBTo256MiB) {
  for (const PageShift shift : {kSmall, kLarge, kLargest}) {
    const uint64_t bytes = shift.bytes();
    const auto pages = Pages({7 * bytes, 2 * bytes});
    const auto keys = Register(Spec(0, bytes + 1), PageListBacking{pages, bytes - 1, shift});
    ASSERT_TRUE(Succeeds(keys));
    EXPECT_EQ(PiecesOf(Translate(keys->local, 0, bytes + 1, AccessKind::kLocalRead)),
              (Pieces{{8 * bytes - 1, 1}, {2 * bytes, bytes}}));
    ASSERT_TRUE(Succeeds(core_.regions.Deregister(keys->local)));
  }
}

TEST_F(RegionsTest, SharedRegionsUseOneSetOfTranslations) {
  const RegionKeys one = LinearRegion(kBase, 2 * kPage);
  const auto two = Register(Spec(0, 2 * kPage, Access::kLocalRead), SharedBacking{one.local});
  ASSERT_TRUE(Succeeds(two));
  EXPECT_EQ(EntryOf(one.local).table, EntryOf(two->local).table);
  EXPECT_EQ(PiecesOf(Translate(two->local, 0, 8, AccessKind::kLocalRead)), (Pieces{{kBase, 8}}));
  EXPECT_TRUE(IsRefused(Translate(two->local, 0, 8, AccessKind::kLocalWrite), Refusal::kNoRight));
  ASSERT_TRUE(Succeeds(core_.regions.UnmapPages(one.local, 0, 1)));
  EXPECT_NE(AsFault(Translate(two->local, 0, 8, AccessKind::kLocalRead)), nullptr);
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(one.local)));
  EXPECT_TRUE(IsReady(Translate(two->local, kPage, 8, AccessKind::kLocalRead)));
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(two->local)));
  EXPECT_EQ(core_.translations.reverse_record_count(), 0u);
}

TEST_F(RegionsTest, TheImplicitRegionCoversTheWholeAddressSpace) {
  const auto keys = Register(Spec(0, kMax), AddressSpaceBacking{});
  ASSERT_TRUE(Succeeds(keys));
  ASSERT_TRUE(Succeeds(core_.consumers.MapLocalPage(OwnerOf(pd_), VirtualAddress(0x7000),
                                                    PhysicalAddress(0x2000), true)));
  EXPECT_EQ(PiecesOf(Translate(keys->local, 0x7010, 16, AccessKind::kLocalWrite)),
            (Pieces{{0x2010, 16}}));
  EXPECT_NE(AsFault(Translate(keys->local, 0x8000, 1, AccessKind::kLocalWrite)), nullptr);
}

TEST_F(RegionsTest, AZeroBasedRegionHidesItsAddress) {
  RegionSpec spec = Spec(0, kPage);
  spec.zero_based = true;
  const auto keys = Register(spec, Linear(kBase + 1));
  ASSERT_TRUE(Succeeds(keys));
  ASSERT_TRUE(Succeeds(core_.regions.MapPages(keys->local, 0, 2, std::nullopt, true)));
  EXPECT_EQ(PiecesOf(Translate(keys->remote, 0, 4, AccessKind::kRemoteRead)),
            (Pieces{{kBase + 1, 4}}));
  EXPECT_TRUE(IsRefused(Translate(keys->remote, kBase + 1, 4, AccessKind::kRemoteRead),
                        Refusal::kOutOfRange));
}

TEST_F(RegionsTest, AnEmptyRegionIsValidAndGrantsNothing) {
  const Backing backings[] = {Linear(kBase), PageListBacking{}, AddressSpaceBacking{}};
  for (const Backing& backing : backings) {
    const auto keys = Register(Spec(kBase, 0), backing);
    ASSERT_TRUE(Succeeds(keys));
    EXPECT_EQ(EntryOf(keys->local).table, nullptr);
    EXPECT_TRUE(IsReady(Translate(keys->local, kBase, 0, AccessKind::kLocalRead)));
    EXPECT_TRUE(
        IsRefused(Translate(keys->local, kBase, 1, AccessKind::kLocalRead), Refusal::kOutOfRange));
    EXPECT_TRUE(Succeeds(core_.regions.Deregister(keys->local)));
  }
}

TEST_F(RegionsTest, UntouchedTebibytesTakeNoMemory) {
  for (const uint64_t length : {kTiB, 3 * kTiB + 5}) {
    const auto keys = Register(Spec(kPage, length), Linear(kPage));
    ASSERT_TRUE(Succeeds(keys));
    EXPECT_LT(core_.translations.BytesOf(*EntryOf(keys->local).table), 64u * 1024);
    const uint64_t last_page = (length - 1) / kPage;
    ASSERT_TRUE(Succeeds(core_.regions.MapPages(keys->local, last_page, 1, std::nullopt, true)));
    EXPECT_LT(core_.translations.BytesOf(*EntryOf(keys->local).table), 64u * 1024);
    EXPECT_EQ(PiecesOf(Translate(keys->local, kPage + length - 1, 1, AccessKind::kLocalWrite)),
              (Pieces{{kPage + length - 1, 1}}));
  }
}

TEST_F(RegionsTest, DistinctKeysServeOneOriginEach) {
  RegionSpec spec = Spec(kBase, kPage);
  spec.distinct_keys = true;
  const auto keys = Register(spec, Linear(kBase));
  ASSERT_TRUE(Succeeds(keys));
  ASSERT_TRUE(Succeeds(core_.regions.MapPages(keys->local, 0, 1, std::nullopt, true)));
  EXPECT_TRUE(IsReady(Translate(keys->local, kBase, 1, AccessKind::kLocalRead)));
  EXPECT_TRUE(IsReady(Translate(keys->remote, kBase, 1, AccessKind::kRemoteRead)));
  EXPECT_TRUE(
      IsRefused(Translate(keys->remote, kBase, 1, AccessKind::kLocalRead), Refusal::kStaleVariant));
  EXPECT_TRUE(
      IsRefused(Translate(keys->local, kBase, 1, AccessKind::kRemoteRead), Refusal::kStaleVariant));
  EXPECT_TRUE(Succeeds(core_.regions.Deregister(keys->remote)));
}

TEST_F(RegionsTest, RegisterRefusesABadSpec) {
  RegionSpec no_domain = Spec(0, 1);
  no_domain.pd = PdId(999);
  ExpectRefused(no_domain, Linear(0), MemoryError::kNoSuchDomain);
  ExpectRefused(Spec(kMax, 2), Linear(0), MemoryError::kWraps);
  RegionSpec not_zero = Spec(1, 1);
  not_zero.zero_based = true;
  ExpectRefused(not_zero, Linear(0), MemoryError::kOutOfRange);
  ExpectRefused(Spec(0, 1, Access::kRemoteWrite), Linear(0), MemoryError::kRightsTooWide);
  ExpectRefused(Spec(0, 1, Access::kLocalRead | Access::kRemoteAtomic), Linear(0),
                MemoryError::kRightsTooWide);
  ExpectRefused(Spec(0, 1, Access::kLocalWrite | Access::kRemoteRead), Linear(0),
                MemoryError::kRightsTooWide);
}

TEST_F(RegionsTest, RegisterRefusesABadBacking) {
  ExpectRefused(Spec(0, 2), Linear(kMax), MemoryError::kWraps);
  ExpectRefused(Spec(0, kMax), Linear(0), MemoryError::kTooLarge);
  const auto pages = Pages({0x1000, 0x2000});
  const auto list = [&](uint64_t offset) { return PageListBacking{pages, offset, kSmall}; };
  ExpectRefused(Spec(0, 2 * kPage + 1), list(0), MemoryError::kBadPageList);
  ExpectRefused(Spec(0, kPage), list(0), MemoryError::kBadPageList);  // one page too many
  ExpectRefused(Spec(0, kPage), list(kPage), MemoryError::kBadPageList);
  const auto crooked = Pages({0x1000, 0x2010});
  ExpectRefused(Spec(0, 2 * kPage), PageListBacking{crooked, 0, kSmall}, MemoryError::kBadPageList);
  core_.ForbidInLists(MachineAddress(0x2000), MachineAddress(0x2FFF));
  ExpectRefused(Spec(0, 2 * kPage), list(0), MemoryError::kBadPageList);
  ExpectRefused(Spec(0, 1), SharedBacking{Key(1)}, MemoryError::kNoSuchKey);
  RegionSpec zero_based = Spec(0, 1);
  zero_based.zero_based = true;
  ExpectRefused(zero_based, AddressSpaceBacking{}, MemoryError::kWrongType);
  RegionSpec virtual_linear = Spec(0, 1);
  virtual_linear.address_kind = AddressKind::kVirtual;
  ExpectRefused(virtual_linear, Linear(0), MemoryError::kWrongType);
  ExpectRefused(virtual_linear, AddressSpaceBacking{}, MemoryError::kNotPrivileged);
}

TEST_F(RegionsTest, RegisterRefusesToShareTablesThatCannotBeShared) {
  const RegionKeys one = LinearRegion(kBase, kPage);
  ExpectRefused(Spec(0, kPage - 1), SharedBacking{one.local}, MemoryError::kOutOfRange);
  const Key window = *core_.windows.Allocate(pd_, WindowType::k1);
  ExpectRefused(Spec(0, kPage), SharedBacking{window}, MemoryError::kWrongType);
  const auto implicit = Register(Spec(0, kPage), AddressSpaceBacking{});
  ExpectRefused(Spec(0, kPage), SharedBacking{implicit->local}, MemoryError::kWrongType);
  const auto reserved = core_.regions.Reserve(pd_, 1, kSmall);
  ExpectRefused(Spec(0, 0), SharedBacking{reserved->local}, MemoryError::kWrongType);
}

TEST_F(RegionsTest, ARegionOfAGuestNamesItsPhysicalAddresses) {
  ExpectRefused(Spec(0, kPage), LinearBacking{{}, kSmall, GuestKey(77)}, MemoryError::kNoSuchGuest);
  const GuestKey guest = *core_.guests.Create({.memory_bytes = 4 * kPage});
  const LinearBacking backing{PhysicalAddress(kPage), kSmall, guest};
  const auto keys = Register(Spec(0, kPage), backing);
  ASSERT_TRUE(Succeeds(keys));
  EXPECT_EQ(EntryOf(keys->local).guest, guest);
  const auto shared = Register(Spec(0, kPage), SharedBacking{keys->local});
  ASSERT_TRUE(Succeeds(shared));
  EXPECT_EQ(EntryOf(shared->local).guest, guest);
  const auto changed = core_.regions.Reregister(keys->local, Spec(0, kPage), {});
  ASSERT_TRUE(Succeeds(changed));
  EXPECT_EQ(EntryOf(changed->local).guest, guest);
  // They are none of the addresses that an owner's segments are about.
  RegionSpec segmented = Spec(0, kPage);
  segmented.pd = MakeDomain({.has_segments = true});
  ExpectRefused(segmented, backing, MemoryError::kNotPrivileged);
  segmented.pd = MakeDomain({.privileged = true, .has_segments = true});
  EXPECT_TRUE(Succeeds(Register(segmented, backing)));
}

TEST_F(RegionsTest, AnAddressSpaceRegionNeedsAPageTable) {
  RegionSpec spec = Spec(0, 1);
  spec.pd = MakeDomain({});
  ExpectRefused(spec, AddressSpaceBacking{}, MemoryError::kWrongType);
}

// Row A2: an owner cannot grant memory that it does not have.
TEST_F(RegionsTest, AnOwnerWithSegmentsRegistersOnlyItsOwnMemory) {
  const PdId pd = MakeDomain({.has_segments = true});
  ASSERT_TRUE(Succeeds(core_.consumers.SegmentTableUpdate(
      OwnerOf(pd), SegmentChange::kAdd,
      {EffectiveAddress(kBase), kPage, VirtualAddress(0), Access::kLocalRead})));
  RegionSpec spec = Spec(kBase, kPage, Access::kLocalRead | Access::kRemoteRead);
  spec.pd = pd;
  EXPECT_TRUE(Succeeds(Register(spec, Linear(kBase))));
  ExpectRefused(spec, Linear(kBase + 1), MemoryError::kNotAuthorized);
  spec.rights = kLocal;
  ExpectRefused(spec, Linear(kBase), MemoryError::kNotAuthorized);
  spec.rights = Access::kLocalRead;
  const auto pages = Pages({kBase});
  ExpectRefused(spec, PageListBacking{pages, 0, kSmall}, MemoryError::kNotPrivileged);
  const RegionKeys others = LinearRegion(kBase, kPage);
  ExpectRefused(spec, SharedBacking{others.local}, MemoryError::kNotPrivileged);
  ExpectUnchanged([&] {
    EXPECT_TRUE(FailsWith(core_.regions.Reserve(pd, 1, kSmall), MemoryError::kNotPrivileged));
  });
}

TEST_F(RegionsTest, AnOwnerMayShareItsOwnRegion) {
  const PdId pd = MakeDomain({.has_segments = true});
  ASSERT_TRUE(Succeeds(core_.consumers.SegmentTableUpdate(
      OwnerOf(pd), SegmentChange::kAdd,
      {EffectiveAddress(kBase), kPage, VirtualAddress(0), Access::kLocalRead})));
  RegionSpec spec = Spec(kBase, kPage, Access::kLocalRead);
  spec.pd = pd;
  const auto first = Register(spec, Linear(kBase));
  EXPECT_TRUE(Succeeds(Register(spec, SharedBacking{first->local})));
  spec.rights = kLocal;
  ExpectRefused(spec, SharedBacking{first->local}, MemoryError::kNotAuthorized);
}

TEST_F(RegionsTest, DeregisterEndsBothKeysAndFreesTheTranslations) {
  const RegionKeys keys = LinearRegion(kBase, kPage);
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(keys.local)));
  EXPECT_TRUE(
      IsRefused(Translate(keys.local, kBase, 1, AccessKind::kLocalRead), Refusal::kNoSuchKey));
  EXPECT_TRUE(FailsWith(core_.regions.Deregister(keys.local), MemoryError::kNoSuchKey));
  EXPECT_EQ(core_.domains.Find(pd_)->users, 0u);
  EXPECT_EQ(core_.translations.table_count(), 1u);  // the consumer's page table
}

TEST_F(RegionsTest, DeregisterRefusesWindowsOnTheRegionAndOtherKinds) {
  const RegionKeys keys = LinearRegion(kBase, kPage);
  const Key window = *core_.windows.Allocate(pd_, WindowType::k1);
  const auto bound = core_.windows.Bind(window,
                                        {.region = keys.local,
                                         .start = KeyAddress(kBase),
                                         .length = 1,
                                         .rights = Access::kNone,
                                         .variant = {}},
                                        me_);
  ASSERT_TRUE(Succeeds(bound));
  ExpectUnchanged([&] {
    EXPECT_TRUE(FailsWith(core_.regions.Deregister(keys.local), MemoryError::kInUse));
    EXPECT_TRUE(FailsWith(core_.regions.Deregister(*bound), MemoryError::kWrongType));
  });
  ASSERT_TRUE(Succeeds(core_.windows.Deallocate(*bound)));
  EXPECT_TRUE(Succeeds(core_.regions.Deregister(keys.local)));
}

TEST_F(RegionsTest, MapPagesRefusesPagesOutsideOfTheRegion) {
  const RegionKeys keys = LinearRegion(kBase, kPage);
  const auto implicit = Register(Spec(0, kPage), AddressSpaceBacking{});
  ExpectUnchanged([&] {
    auto& regions = core_.regions;
    EXPECT_TRUE(
        FailsWith(regions.MapPages(Key(1), 0, 1, std::nullopt, true), MemoryError::kNoSuchKey));
    EXPECT_TRUE(FailsWith(regions.UnmapPages(Key(1), 0, 1), MemoryError::kNoSuchKey));
    EXPECT_TRUE(FailsWith(regions.MapPages(implicit->local, 0, 1, std::nullopt, true),
                          MemoryError::kWrongType));
    EXPECT_TRUE(FailsWith(regions.UnmapPages(implicit->local, 0, 1), MemoryError::kWrongType));
    EXPECT_TRUE(FailsWith(regions.MapPages(keys.local, 1, 1, std::nullopt, true),
                          MemoryError::kOutOfRange));
    EXPECT_TRUE(FailsWith(regions.MapPages(keys.local, 0, 1, PhysicalAddress(0), true),
                          MemoryError::kOutOfRange));
    EXPECT_TRUE(FailsWith(regions.UnmapPages(keys.local, 0, 2), MemoryError::kOutOfRange));
  });
  const auto pages = Pages({0x1000});
  const auto list = Register(Spec(0, 1), PageListBacking{pages, 0, kSmall});
  EXPECT_TRUE(FailsWith(core_.regions.MapPages(list->local, 0, 1, std::nullopt, true),
                        MemoryError::kWrongType));
  EXPECT_TRUE(Succeeds(core_.regions.MapPages(list->local, 0, 1, PhysicalAddress(0x5000), true)));
}

class RegionsLimitTest : public RegionsTest {
 protected:
  RegionsLimitTest()
      : RegionsTest(MemoryOptions{.key_slots_max = 3, .translation_tables_max = 4}) {}
};

TEST_F(RegionsLimitTest, AFullTableRefusesWithoutChange) {
  LinearRegion(kBase, kPage);
  LinearRegion(kBase, kPage);
  ExpectRefused(Spec(0, 1), Linear(0), MemoryError::kLimitReached);  // of keys
  const auto pages = Pages({0});
  ExpectRefused(Spec(0, 1), PageListBacking{pages, 0, kSmall}, MemoryError::kLimitReached);
  ExpectUnchanged([&] {
    EXPECT_TRUE(FailsWith(core_.regions.Reserve(pd_, 1, kSmall), MemoryError::kLimitReached));
  });
}

class RegionsTableLimitTest : public RegionsTest {
 protected:
  RegionsTableLimitTest() : RegionsTest(MemoryOptions{.translation_tables_max = 1}) {}
};

TEST_F(RegionsTableLimitTest, RefusesRegionsBeyondTheLimitOfTables) {
  ExpectRefused(Spec(0, 1), Linear(0), MemoryError::kLimitReached);
  ExpectUnchanged([&] {
    EXPECT_TRUE(FailsWith(core_.regions.Reserve(pd_, 1, kSmall), MemoryError::kLimitReached));
  });
  EXPECT_TRUE(Succeeds(Register(Spec(0, 1), AddressSpaceBacking{})));
}

TEST_F(RegionsTest, ANullRegionHasNoRemoteRights) {
  RegionSpec spec{.pd = pd_, .start = KeyAddress(0), .length = kMax, .rights = Access::kAll};
  EXPECT_TRUE(FailsWith(core_.regions.Register(spec, NullBacking{}), MemoryError::kRightsTooWide));
  spec.rights = Access::kLocalRead | Access::kLocalWrite | Access::kWindowBind;
  EXPECT_TRUE(FailsWith(core_.regions.Register(spec, NullBacking{}), MemoryError::kRightsTooWide));
  spec.rights = Access::kLocalRead;
  const auto keys = core_.regions.Register(spec, NullBacking{});
  ASSERT_TRUE(Succeeds(keys));
  // Remote rights are also refused at reregistration...
  spec.rights = Access::kLocalRead | Access::kRemoteRead;
  EXPECT_TRUE(FailsWith(core_.regions.Reregister(keys->local, spec, std::nullopt),
                        MemoryError::kRightsTooWide));
  EXPECT_TRUE(
      FailsWith(core_.regions.MapPages(keys->local, 0, 1, {}, true), MemoryError::kWrongType));
  EXPECT_TRUE(
      FailsWith(core_.regions.Register(spec, SharedBacking{keys->local}), MemoryError::kWrongType));
  // ...unless the region gets memory.
  spec.length = kPage;
  const auto reregistered = core_.regions.Reregister(keys->local, spec, LinearBacking{});
  ASSERT_TRUE(Succeeds(reregistered));
  EXPECT_FALSE(EntryOf(reregistered->local).is_null);
  EXPECT_TRUE(Succeeds(core_.regions.Deregister(reregistered->local)));
}

}  // namespace
}  // namespace verbena::memory
