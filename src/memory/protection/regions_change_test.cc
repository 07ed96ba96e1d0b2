// Changes of a region after its registration: reregistration, swapping, and registration and
// invalidation by work request.

#include <vector>

#include <gtest/gtest.h>

#include "memory/protection/regions.h"
#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kBase = 0x100000;

class RegionsChangeTest : public MemoryFixture {
 protected:
  RegionSpec Spec(uint64_t start, uint64_t length, Access rights = Access::kAll) const {
    return {.pd = pd_, .start = KeyAddress(start), .length = length, .rights = rights};
  }
  void ExpectReregisterRefused(Key key, const RegionSpec& spec,
                               const std::optional<Backing>& backing, MemoryError error) {
    ExpectUnchanged(
        [&] { EXPECT_TRUE(FailsWith(core_.regions.Reregister(key, spec, backing), error)); });
  }
  Key BindWindow(Key region, uint64_t start) {
    const Key window = *core_.windows.Allocate(pd_, WindowType::k1);
    const auto bound = core_.windows.Bind(
        window,
        {.region = region, .start = KeyAddress(start), .length = 8, .rights = Access::kRemoteRead},
        me_);
    EXPECT_TRUE(Succeeds(bound));
    return *bound;
  }
};

using ReregisterTest = RegionsChangeTest;

TEST_F(ReregisterTest, NewRightsMakeNewKeysAndLeaveTheBytesWhereTheyAre) {
  const RegionKeys old = LinearRegion(kBase, kPage);
  const auto keys = core_.regions.Reregister(old.local, Spec(kBase, kPage, Access::kLocalRead), {});
  ASSERT_TRUE(Succeeds(keys));
  EXPECT_TRUE(
      IsRefused(Translate(old.local, kBase, 1, AccessKind::kLocalRead), Refusal::kStaleVariant));
  EXPECT_EQ(PiecesOf(Translate(keys->local, kBase, 1, AccessKind::kLocalRead)),
            (Pieces{{kBase, 1}}));
  EXPECT_TRUE(
      IsRefused(Translate(keys->local, kBase, 1, AccessKind::kLocalWrite), Refusal::kNoRight));
}

TEST_F(ReregisterTest, KeepKeysHasNoEffectOnOneTouchKeys) {
  const RegionKeys old = LinearRegion(kBase, kPage);
  RegionSpec spec = Spec(kBase, kPage, Access::kLocalRead);
  spec.keep_keys = true;
  const auto kept = core_.regions.Reregister(old.local, spec, {});
  ASSERT_TRUE(Succeeds(kept));
  EXPECT_EQ(*kept, old);
  EXPECT_EQ(PiecesOf(Translate(old.local, kBase, 1, AccessKind::kLocalRead)), (Pieces{{kBase, 1}}));
  EXPECT_TRUE(
      IsRefused(Translate(old.local, kBase, 1, AccessKind::kLocalWrite), Refusal::kNoRight));
  spec.one_touch = true;
  const auto once = core_.regions.Reregister(old.local, spec, {});
  ASSERT_TRUE(Succeeds(once));
  EXPECT_NE(*once, old);
  spec.one_touch = false;
  const auto after = core_.regions.Reregister(once->local, spec, {});
  ASSERT_TRUE(Succeeds(after));
  EXPECT_NE(*after, *once) << "a peer may have spent it";
}

TEST_F(ReregisterTest, TheRegionMovesToANewDomain) {
  const RegionKeys old = LinearRegion(kBase, kPage);
  RegionSpec spec = Spec(kBase, kPage);
  spec.pd = *core_.domains.Allocate(OwnerOf(pd_));
  const auto keys = core_.regions.Reregister(old.local, spec, {});
  ASSERT_TRUE(Succeeds(keys));
  EXPECT_EQ(core_.domains.Find(pd_)->users, 0u);
  EXPECT_EQ(core_.domains.Find(spec.pd)->users, 1u);
  EXPECT_TRUE(
      IsRefused(Translate(keys->local, kBase, 1, AccessKind::kLocalRead), Refusal::kWrongDomain));
}

TEST_F(ReregisterTest, ANewTranslationReplacesTheOldOne) {
  const RegionKeys old = LinearRegion(kBase, kPage);
  const auto pages = Pages({0x9000, 0x2000});
  const auto keys =
      core_.regions.Reregister(old.local, Spec(0, 2 * kPage), PageListBacking{pages, 0, kSmall});
  ASSERT_TRUE(Succeeds(keys));
  EXPECT_EQ(PiecesOf(Translate(keys->local, kPage, 1, AccessKind::kLocalRead)),
            (Pieces{{0x2000, 1}}));
  EXPECT_EQ(core_.translations.table_count(), 2u);  // the region's and the consumer's
}

TEST_F(ReregisterTest, ARegionMayBeSharedWithItself) {
  const RegionKeys old = LinearRegion(kBase, kPage);
  const auto keys = core_.regions.Reregister(old.local, Spec(0, kPage), SharedBacking{old.local});
  ASSERT_TRUE(Succeeds(keys));
  EXPECT_EQ(PiecesOf(Translate(keys->local, 0, 1, AccessKind::kLocalRead)), (Pieces{{kBase, 1}}));
  ASSERT_TRUE(Succeeds(core_.regions.Deregister(keys->local)));
  EXPECT_EQ(core_.translations.table_count(), 1u);
}

TEST_F(ReregisterTest, ARefusalChangesNothing) {
  const RegionKeys keys = LinearRegion(kBase, kPage);
  const LinearBacking linear{PhysicalAddress(kBase), kSmall};
  RegionSpec no_domain = Spec(kBase, kPage);
  no_domain.pd = PdId(999);
  ExpectReregisterRefused(Key(1), Spec(kBase, kPage), {}, MemoryError::kNoSuchKey);
  ExpectReregisterRefused(keys.local, no_domain, {}, MemoryError::kNoSuchDomain);
  ExpectReregisterRefused(keys.local, Spec(kMax, kPage), linear, MemoryError::kWraps);
  ExpectReregisterRefused(keys.local, Spec(0, 1, Access::kRemoteWrite), linear,
                          MemoryError::kRightsTooWide);
  ExpectReregisterRefused(keys.local, Spec(kBase + 1, kPage), {}, MemoryError::kOutOfRange);
  ExpectReregisterRefused(keys.local, Spec(kBase, kPage - 1), {}, MemoryError::kOutOfRange);
  ExpectReregisterRefused(keys.local, Spec(0, kMax), LinearBacking{}, MemoryError::kTooLarge);
  ExpectReregisterRefused(keys.local, Spec(0, kPage), PageListBacking{}, MemoryError::kBadPageList);
  ExpectReregisterRefused(keys.local, Spec(kBase, kPage), LinearBacking{{}, kSmall, GuestKey(77)},
                          MemoryError::kNoSuchGuest);
  RegionSpec segmented = Spec(kBase, kPage);
  segmented.pd = MakeDomain({.has_segments = true});
  ExpectReregisterRefused(keys.local, segmented, {}, MemoryError::kNotAuthorized);
  const auto reserved = core_.regions.Reserve(pd_, 1, kSmall);
  ExpectReregisterRefused(reserved->local, Spec(0, 0), {}, MemoryError::kWrongState);
  BindWindow(keys.local, kBase);
  ExpectReregisterRefused(keys.local, Spec(kBase, kPage), {}, MemoryError::kInUse);
  EXPECT_TRUE(IsReady(Translate(keys.local, kBase, kPage, AccessKind::kLocalWrite)));
}

using SwapTest = RegionsChangeTest;

// Rows D4, D6, D7.
TEST_F(SwapTest, OnlyTheValidBitChanges) {
  const auto pages = Pages({0x3000, 0x8000});
  const auto keys =
      core_.regions.Register(Spec(kBase, 2 * kPage), PageListBacking{pages, 0, kSmall});
  const Key window = BindWindow(keys->local, kBase + kPage);
  ASSERT_TRUE(Succeeds(core_.regions.SwapOut(keys->local)));
  EXPECT_TRUE(
      IsRefused(Translate(keys->local, kBase, 1, AccessKind::kLocalRead), Refusal::kSwappedOut));
  EXPECT_TRUE(
      IsRefused(Translate(keys->remote, kBase, 1, AccessKind::kRemoteRead), Refusal::kSwappedOut));
  EXPECT_TRUE(IsRefused(Translate(window, kBase + kPage, 1, AccessKind::kRemoteRead),
                        Refusal::kRegionNotValid));
  ASSERT_TRUE(Succeeds(core_.regions.UnmapPages(keys->local, 0, 2)));
  ASSERT_TRUE(Succeeds(core_.regions.MapPages(keys->local, 0, 2, PhysicalAddress(0x50000), true)));
  ASSERT_TRUE(Succeeds(core_.regions.SwapIn(keys->local)));
  EXPECT_EQ(PiecesOf(Translate(keys->local, kBase, 2 * kPage, AccessKind::kLocalWrite)),
            (Pieces{{0x50000, 2 * kPage}}));
  EXPECT_EQ(PiecesOf(Translate(window, kBase + kPage, 8, AccessKind::kRemoteRead)),
            (Pieces{{0x51000, 8}}));
}

// Row D8: accesses fault although the pages are present in the table.
TEST_F(SwapTest, AnAccessFaultsIfTheOwnerChoseThat) {
  const RegionKeys keys = LinearRegion(kBase + 0x10, 3 * kPage);
  ASSERT_TRUE(Succeeds(core_.regions.MapPages(keys.local, 0, 4, {}, true)));
  const Key window = BindWindow(keys.local, kBase + kPage);
  ASSERT_TRUE(Succeeds(core_.regions.SwapOut(keys.local, Regions::WhenOut::kWait)));
  const Translation local = Translate(keys.local, kBase + kPage, kPage, AccessKind::kLocalRead);
  ASSERT_NE(AsFault(local), nullptr);
  EXPECT_EQ(AsFault(local)->region, keys.local);
  EXPECT_EQ(AsFault(local)->first_page, 1U);
  EXPECT_EQ(AsFault(local)->page_count, 1U);
  const Translation remote =
      Translate(keys.remote, kBase + kPage + 1, kPage, AccessKind::kRemoteWrite);
  ASSERT_NE(AsFault(remote), nullptr);
  EXPECT_EQ(AsFault(remote)->page_count, 2U);
  EXPECT_TRUE(AsFault(remote)->for_write);
  const Translation through = Translate(window, kBase + kPage, 8, AccessKind::kRemoteRead);
  ASSERT_NE(AsFault(through), nullptr);
  EXPECT_EQ(AsFault(through)->region, keys.local);
  // An access that another check refuses does not fault.
  EXPECT_TRUE(
      IsRefused(Translate(keys.local, kBase, 1, AccessKind::kLocalRead), Refusal::kOutOfRange));
  ASSERT_TRUE(Succeeds(core_.regions.SwapIn(keys.local)));
  EXPECT_TRUE(IsReady(Translate(keys.local, kBase + kPage, kPage, AccessKind::kLocalWrite)));
  EXPECT_TRUE(IsReady(Translate(window, kBase + kPage, 8, AccessKind::kRemoteRead)));
  ASSERT_TRUE(Succeeds(core_.regions.SwapOut(keys.local)));
  EXPECT_TRUE(IsRefused(Translate(keys.local, kBase + kPage, 1, AccessKind::kLocalRead),
                        Refusal::kSwappedOut))
      << "the next time it is refused";
}

TEST_F(SwapTest, ARegionWithoutATableCannotMakeAccessesWait) {
  const auto null = core_.regions.Register(
      {.pd = pd_, .start = {}, .length = kPage, .rights = Access::kLocal}, NullBacking{});
  ASSERT_TRUE(Succeeds(null));
  EXPECT_TRUE(FailsWith(core_.regions.SwapOut(null->local, Regions::WhenOut::kWait),
                        MemoryError::kWrongType));
}

TEST_F(SwapTest, WrongStatesAndKeysAreRefused) {
  const RegionKeys keys = LinearRegion(kBase, kPage);
  const auto reserved = core_.regions.Reserve(pd_, 1, kSmall);
  const Key window = *core_.windows.Allocate(pd_, WindowType::k1);
  ExpectUnchanged([&] {
    auto& regions = core_.regions;
    EXPECT_TRUE(FailsWith(regions.SwapIn(keys.local), MemoryError::kWrongState));
    EXPECT_TRUE(FailsWith(regions.SwapOut(reserved->local), MemoryError::kWrongState));
    EXPECT_TRUE(FailsWith(regions.SwapOut(Key(1)), MemoryError::kNoSuchKey));
    EXPECT_TRUE(FailsWith(regions.SwapIn(Key(1)), MemoryError::kNoSuchKey));
    EXPECT_TRUE(FailsWith(regions.SwapOut(window), MemoryError::kWrongType));
  });
  ASSERT_TRUE(Succeeds(core_.regions.SwapOut(keys.local)));
  ExpectUnchanged([&] {
    EXPECT_TRUE(FailsWith(core_.regions.SwapOut(keys.local), MemoryError::kWrongState));
    EXPECT_TRUE(FailsWith(core_.regions.Reregister(keys.local, Spec(kBase, kPage), {}),
                          MemoryError::kWrongState));
  });
  EXPECT_TRUE(Succeeds(core_.regions.Deregister(keys.local)));
}

class WorkRequestTest : public RegionsChangeTest {
 protected:
  WorkRequestTest() { key_ = core_.regions.Reserve(pd_, 2, kSmall)->local; }

  Key Next(Key key, uint8_t by = 1) const {
    return Key(key.index(), KeyVariant(static_cast<uint8_t>(key.variant().value() + by)));
  }
  Result<RegionKeys, Refusal> Fill(Key key, const RegionSpec& spec, const PageListBacking& list) {
    return core_.regions.RegisterReserved(key, spec, list, me_);
  }
  Result<RegionKeys, Refusal> Fill(Key key) {
    return Fill(key, Spec(kBase, kPage), PageListBacking{pages_, 0, kSmall});
  }
  void ExpectFillRefused(Key key, const RegionSpec& spec, const PageListBacking& list,
                         Refusal refusal) {
    ExpectUnchanged([&] { EXPECT_TRUE(FailsWith(Fill(key, spec, list), refusal)); });
  }
  Result<void, Refusal> Invalidate(Key key, Origin origin = Origin::kLocal) {
    return core_.regions.Invalidate(key, origin, me_);
  }

  const std::vector<PhysicalAddress> pages_ = Pages({0x7000});
  Key key_;
};

TEST_F(WorkRequestTest, AReservedKeyGrantsNothingUntilItIsRegistered) {
  EXPECT_TRUE(IsRefused(Translate(key_, kBase, 1, AccessKind::kLocalRead), Refusal::kNotValid));
  EXPECT_EQ(Fill(key_), (RegionKeys{key_, key_}));
  EXPECT_EQ(PiecesOf(Translate(key_, kBase, 1, AccessKind::kLocalRead)), (Pieces{{0x7000, 1}}));
}

TEST_F(WorkRequestTest, AfterInvalidationItCanBeRegisteredWithAnotherVariant) {
  ASSERT_TRUE(Succeeds(Fill(key_)));
  ASSERT_TRUE(Succeeds(Invalidate(key_)));
  EXPECT_TRUE(IsRefused(Translate(key_, kBase, 1, AccessKind::kLocalRead), Refusal::kNotValid));
  EXPECT_TRUE(FailsWith(Fill(key_), Refusal::kSameVariant));
  const auto elsewhere = Pages({0xa000, 0xc000});
  const Key next = Next(key_, 77);
  const auto keys = Fill(next, Spec(0, kPage + 1), PageListBacking{elsewhere, 0x10, kSmall});
  ASSERT_TRUE(Succeeds(keys));
  EXPECT_EQ(keys->remote, next);
  EXPECT_EQ(PiecesOf(Translate(next, 0, kPage + 1, AccessKind::kLocalRead)),
            (Pieces{{0xa010, kPage - 0x10}, {0xc000, 0x11}}));
  EXPECT_TRUE(IsRefused(Translate(key_, 0, 1, AccessKind::kLocalRead), Refusal::kStaleVariant));
}

TEST_F(WorkRequestTest, EveryRefusedRegistrationLeavesTheKeyReserved) {
  const PageListBacking list{pages_, 0, kSmall};
  const RegionSpec spec = Spec(kBase, kPage);
  ExpectFillRefused(Key(1), spec, list, Refusal::kNoSuchKey);
  const RegionKeys ordinary = LinearRegion(kBase, kPage);
  ExpectFillRefused(ordinary.local, spec, list, Refusal::kWrongType);
  ExpectFillRefused(*core_.windows.Allocate(pd_, WindowType::k1), spec, list, Refusal::kWrongType);
  RegionSpec foreign = spec;
  foreign.pd = MakeDomain({});
  ExpectFillRefused(key_, foreign, list, Refusal::kWrongDomain);
  ExpectUnchanged([&] {
    EXPECT_TRUE(FailsWith(core_.regions.RegisterReserved(key_, foreign, list, {foreign.pd, {}}),
                          Refusal::kWrongDomain));
  });
  ExpectFillRefused(Next(key_), spec, list, Refusal::kStaleVariant);
  ExpectFillRefused(key_, Spec(kMax, 2), list, Refusal::kWraps);
  RegionSpec not_zero = Spec(1, kPage);
  not_zero.zero_based = true;
  ExpectFillRefused(key_, not_zero, list, Refusal::kOutOfRange);
  ExpectFillRefused(key_, Spec(kBase, kPage, Access::kRemoteWrite), list, Refusal::kRightsTooWide);
  ExpectFillRefused(key_, Spec(kBase, kPage + 1), list, Refusal::kBadPageList);
  ExpectFillRefused(key_, spec, PageListBacking{pages_, 0, PageShift(13)}, Refusal::kBadPageList);
  const auto three = Pages({0, 0x1000, 0x2000});
  ExpectFillRefused(key_, Spec(kBase, 3 * kPage), PageListBacking{three, 0, kSmall},
                    Refusal::kTooManyPages);
  core_.ForbidInLists(MachineAddress(pages_[0].value()), MachineAddress(pages_[0].value()));
  ExpectFillRefused(key_, spec, list, Refusal::kBadPageList);
  core_.AllowInLists(MachineAddress(pages_[0].value()), MachineAddress(pages_[0].value()));
  ASSERT_TRUE(Succeeds(Fill(key_)));
  ExpectFillRefused(Next(key_), spec, list, Refusal::kStillInUse);
}

TEST_F(WorkRequestTest, ReserveRefusesBadDomainsAndSizes) {
  ExpectUnchanged([&] {
    auto& regions = core_.regions;
    EXPECT_TRUE(FailsWith(regions.Reserve(PdId(99), 1, kSmall), MemoryError::kNoSuchDomain));
    EXPECT_TRUE(FailsWith(regions.Reserve(pd_, 0, kSmall), MemoryError::kOutOfRange));
    EXPECT_TRUE(FailsWith(regions.Reserve(pd_, TranslationTable::kPagesMax + 1, kSmall),
                          MemoryError::kTooLarge));
  });
}

TEST_F(WorkRequestTest, ARefusedInvalidationKeepsTheRegion) {
  EXPECT_TRUE(FailsWith(Invalidate(key_), Refusal::kNotValid));
  ASSERT_TRUE(Succeeds(Fill(key_)));
  const RegionKeys ordinary = LinearRegion(kBase, kPage);
  ExpectUnchanged([&] {
    EXPECT_TRUE(FailsWith(Invalidate(Key(1)), Refusal::kNoSuchKey));
    EXPECT_TRUE(FailsWith(core_.regions.Invalidate(key_, Origin::kLocal, {PdId(9), me_.qp}),
                          Refusal::kWrongDomain));
    EXPECT_TRUE(FailsWith(Invalidate(Next(key_)), Refusal::kStaleVariant));
    EXPECT_TRUE(FailsWith(Invalidate(ordinary.local), Refusal::kNotInvalidable));
  });
  ASSERT_TRUE(Succeeds(core_.regions.SwapOut(key_)));
  EXPECT_TRUE(FailsWith(Invalidate(key_), Refusal::kSwappedOut));
  ASSERT_TRUE(Succeeds(core_.regions.SwapIn(key_)));
  const Key window = BindWindow(key_, kBase);
  EXPECT_TRUE(
      FailsWith(core_.regions.Invalidate(window, Origin::kRemote, me_), Refusal::kWrongType));
  EXPECT_TRUE(FailsWith(Invalidate(key_), Refusal::kStillInUse));
  ASSERT_TRUE(Succeeds(core_.windows.Deallocate(window)));
  EXPECT_TRUE(Succeeds(Invalidate(key_)));
}

TEST_F(WorkRequestTest, APeerInvalidatesOnlyKeysThatItMayUse) {
  const PageListBacking list{pages_, 0, kSmall};
  ASSERT_TRUE(Succeeds(Fill(key_, Spec(kBase, kPage, kLocal), list)));
  EXPECT_TRUE(FailsWith(Invalidate(key_, Origin::kRemote), Refusal::kNoRight));
  ASSERT_TRUE(Succeeds(Invalidate(key_)));
  ASSERT_TRUE(Succeeds(Fill(Next(key_))));
  EXPECT_TRUE(Succeeds(Invalidate(Next(key_), Origin::kRemote)));
}

// A one-touch region may be spent while windows are bound to it, which must not access its next
// generation.
TEST_F(WorkRequestTest, ASpentRegionWithWindowsIsNotRegisteredAgain) {
  RegionSpec spec = Spec(kBase, kPage);
  spec.one_touch = true;
  const PageListBacking list{pages_, 0, kSmall};
  ASSERT_TRUE(Succeeds(Fill(key_, spec, list)));
  const Key window = BindWindow(key_, kBase);
  const StreamPosition stream{StreamNumber(100), 10};
  ASSERT_TRUE(Succeeds(core_.one_touch.Touch(key_, {true, StreamNumber(99)}, stream, me_)));
  ExpectFillRefused(Next(key_), spec, list, Refusal::kStillInUse);
  EXPECT_TRUE(
      IsRefused(Translate(window, kBase, 1, AccessKind::kRemoteRead), Refusal::kRegionNotValid));
  ASSERT_TRUE(Succeeds(core_.windows.Deallocate(window)));
  EXPECT_TRUE(Succeeds(Fill(Next(key_), spec, list)));
}

}  // namespace
}  // namespace verbena::memory
