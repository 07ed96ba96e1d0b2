#include "memory/protection/windows.h"

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kBase = 0x100000;
constexpr uint64_t kLength = 4 * kPage;

class WindowsTest : public MemoryFixture {
 protected:
  WindowsTest() { region_ = LinearRegion(kBase, kLength); }

  Key Allocate(WindowType type) { return *core_.windows.Allocate(pd_, type); }
  WindowBinding Binding(uint64_t start, uint64_t length, Access rights = Access::kRemote) const {
    return {
        .region = region_.local, .start = KeyAddress(start), .length = length, .rights = rights};
  }
  WindowBinding Chosen(uint64_t start, uint64_t length, uint8_t variant = 200) const {
    WindowBinding binding = Binding(start, length);
    binding.variant = KeyVariant(variant);
    return binding;
  }
  Result<Key, Refusal> Bind(Key window, const WindowBinding& binding) {
    return core_.windows.Bind(window, binding, me_);
  }
  void ExpectBindRefused(Key window, const WindowBinding& binding, Refusal refusal) {
    ExpectUnchanged([&] { EXPECT_TRUE(FailsWith(Bind(window, binding), refusal)); });
  }
  Translation Read(Key window, uint64_t address, uint64_t length, const Accessor& who) const {
    return core_.translator.Translate(window, KeyAddress(address), length, AccessKind::kRemoteRead,
                                      who);
  }
  Translation Read(Key window, uint64_t address, uint64_t length) const {
    return Read(window, address, length, me_);
  }

  RegionKeys region_;
};

TEST_F(WindowsTest, AnUnboundWindowGrantsNothing) {
  for (const WindowType type : {WindowType::k1, WindowType::k2A, WindowType::k2B}) {
    EXPECT_TRUE(IsRefused(Read(Allocate(type), kBase, 1), Refusal::kNotValid));
  }
}

TEST_F(WindowsTest, AWindowGrantsExactlyItsBytes) {
  // Odd start, odd length, across a page boundary.
  const auto window = Bind(Allocate(WindowType::k1), Binding(kBase + 4091, 13));
  ASSERT_TRUE(Succeeds(window));
  EXPECT_EQ(PiecesOf(Read(*window, kBase + 4091, 13)), (Pieces{{kBase + 4091, 13}}));
  EXPECT_EQ(PiecesOf(Read(*window, kBase + 4103, 1)), (Pieces{{kBase + 4103, 1}}));
  EXPECT_TRUE(IsRefused(Read(*window, kBase + 4090, 1), Refusal::kOutOfRange));
  EXPECT_TRUE(IsRefused(Read(*window, kBase + 4104, 1), Refusal::kOutOfRange));
  EXPECT_TRUE(IsRefused(Read(*window, kBase + 4091, 14), Refusal::kOutOfRange));
}

TEST_F(WindowsTest, AZeroBasedWindowHidesItsAddress) {
  WindowBinding binding = Binding(kBase + 4091, 13);
  binding.zero_based = true;
  const auto window = Bind(Allocate(WindowType::k1), binding);
  ASSERT_TRUE(Succeeds(window));
  EXPECT_EQ(PiecesOf(Read(*window, 0, 13)), (Pieces{{kBase + 4091, 13}}));
  EXPECT_EQ(PiecesOf(Read(*window, 12, 1)), (Pieces{{kBase + 4103, 1}}));
  EXPECT_TRUE(IsRefused(Read(*window, 13, 1), Refusal::kOutOfRange));
  EXPECT_TRUE(IsRefused(Read(*window, kBase + 4091, 1), Refusal::kOutOfRange));
}

TEST_F(WindowsTest, AWindowGrantsItsOwnRightsAndNotTheRegions) {
  const auto window = Bind(Allocate(WindowType::k1), Binding(kBase, 8, Access::kRemoteRead));
  ASSERT_TRUE(Succeeds(window));
  EXPECT_TRUE(IsReady(Translate(*window, kBase, 8, AccessKind::kRemoteRead)));
  EXPECT_TRUE(IsRefused(Translate(*window, kBase, 8, AccessKind::kRemoteWrite), Refusal::kNoRight));
  EXPECT_TRUE(
      IsRefused(Translate(*window, kBase, 8, AccessKind::kRemoteAtomic), Refusal::kNoRight));
}

// IBA 10.6.7.2: the local rights of the region are the limit, not its remote rights.
TEST_F(WindowsTest, RightsAreNoWiderThanTheOwnersAccessToTheRegion) {
  const auto refused = [&](Access of_region, Access of_window) {
    region_ = LinearRegion(kBase, kLength, of_region | Access::kWindowBind);
    const auto bound = Bind(Allocate(WindowType::k1), Binding(kBase, 8, of_window));
    return !bound.has_value() && bound.error() == Refusal::kRightsTooWide;
  };
  EXPECT_TRUE(refused(Access::kLocalRead, Access::kRemoteWrite));
  EXPECT_TRUE(refused(Access::kLocalRead, Access::kRemoteAtomic));
  EXPECT_TRUE(refused(Access::kLocalWrite, Access::kRemoteRead));
  EXPECT_TRUE(refused(kLocal, Access::kLocalRead));
  EXPECT_TRUE(refused(kLocal, Access::kWindowBind));
  EXPECT_FALSE(refused(Access::kLocalRead, Access::kRemoteRead));
  EXPECT_FALSE(refused(kLocal, Access::kRemote));
  EXPECT_FALSE(refused(Access::kNone, Access::kNone));
}

TEST_F(WindowsTest, ABoundType1WindowCanBeBoundAgain) {
  const auto first = Bind(Allocate(WindowType::k1), Binding(kBase, 8));
  const auto second = Bind(*first, Binding(kBase + 100, 8));
  ASSERT_TRUE(Succeeds(second));
  EXPECT_NE(*first, *second);
  EXPECT_TRUE(IsRefused(Read(*first, kBase + 100, 8), Refusal::kStaleVariant));
  EXPECT_TRUE(IsRefused(Read(*second, kBase, 8), Refusal::kOutOfRange));
  EXPECT_TRUE(IsReady(Read(*second, kBase + 100, 8)));
  EXPECT_EQ(EntryOf(region_.local).region.bound_windows, 1u);
}

TEST_F(WindowsTest, AWindowCanBeReboundToAnotherRegion) {
  const RegionKeys other = LinearRegion(0x900000, kPage);
  const auto first = Bind(Allocate(WindowType::k1), Binding(kBase, 8));
  WindowBinding binding = Binding(0x900000, 8);
  binding.region = other.local;
  ASSERT_TRUE(Succeeds(Bind(*first, binding)));
  EXPECT_EQ(EntryOf(region_.local).region.bound_windows, 0u);
  EXPECT_EQ(EntryOf(other.local).region.bound_windows, 1u);
  EXPECT_TRUE(Succeeds(core_.regions.Deregister(region_.local)));
  EXPECT_TRUE(FailsWith(core_.regions.Deregister(other.local), MemoryError::kInUse));
}

TEST_F(WindowsTest, BindingNoBytesUnbindsAType1Window) {
  const auto bound = Bind(Allocate(WindowType::k1), Binding(kBase, 8));
  const auto unbound = Bind(*bound, WindowBinding{});
  ASSERT_TRUE(Succeeds(unbound));
  EXPECT_TRUE(IsRefused(Read(*unbound, kBase, 8), Refusal::kNotValid));
  EXPECT_TRUE(IsRefused(Read(*bound, kBase, 8), Refusal::kNotValid));
  EXPECT_TRUE(FailsWith(Bind(*bound, Binding(kBase, 8)), Refusal::kStaleVariant));
  EXPECT_TRUE(Succeeds(core_.regions.Deregister(region_.local)));
  EXPECT_TRUE(Succeeds(Bind(*unbound, WindowBinding{})));  // unbinding twice is harmless
}

TEST_F(WindowsTest, TheOwnerOfAType1WindowMayChooseItsKey) {
  const Key window = Allocate(WindowType::k1);
  const auto first = Bind(window, Chosen(kBase, 8));
  EXPECT_EQ(*first, Key(window.index(), KeyVariant(200)));
  ExpectBindRefused(*first, Chosen(kBase, 8), Refusal::kSameVariant);
  EXPECT_TRUE(IsReady(Read(*first, kBase, 8)));
  const auto second = Bind(*first, Chosen(kBase + 8, 8, 201));
  EXPECT_EQ(*second, Key(window.index(), KeyVariant(201)));
  EXPECT_TRUE(IsRefused(Read(*first, kBase + 8, 8), Refusal::kStaleVariant));
  const auto unbound = Bind(*second, Chosen(0, 0, 202));
  EXPECT_EQ(*unbound, Key(window.index(), KeyVariant(202)));
  EXPECT_TRUE(IsRefused(Read(*second, kBase + 8, 8), Refusal::kNotValid));
  ExpectBindRefused(*unbound, Chosen(0, 0, 202), Refusal::kSameVariant);
}

TEST_F(WindowsTest, AFailedBindKeepsTheOldBinding) {
  const auto window = Bind(Allocate(WindowType::k1), Binding(kBase, 8));
  const auto refused = [&](const WindowBinding& binding, Refusal refusal) {
    ExpectBindRefused(*window, binding, refusal);
    EXPECT_TRUE(IsReady(Read(*window, kBase, 8)));
  };
  WindowBinding no_region = Binding(kBase, 8);
  no_region.region = Key(1);
  refused(no_region, Refusal::kNoSuchKey);
  WindowBinding stale = Binding(kBase, 8);
  stale.region = Key(region_.local.value() ^ 1);
  refused(stale, Refusal::kStaleVariant);
  WindowBinding onto_window = Binding(kBase, 8);
  onto_window.region = *window;
  refused(onto_window, Refusal::kWrongType);
  refused(Binding(kBase - 1, 8), Refusal::kOutOfRange);
  refused(Binding(kBase, kLength + 1), Refusal::kOutOfRange);
  refused(Binding(kBase + kLength, 1), Refusal::kOutOfRange);
  refused(Binding(kBase, kMax), Refusal::kOutOfRange);
  refused(Binding(kBase, 8, Access::kAll), Refusal::kRightsTooWide);
  WindowBinding foreign = Binding(kBase, 8);
  const RegionSpec spec{
      .pd = MakeDomain({}), .start = KeyAddress(0), .length = 8, .rights = Access::kAll};
  foreign.region = core_.regions.Register(spec, LinearBacking{})->local;
  foreign.start = KeyAddress(0);
  refused(foreign, Refusal::kWrongDomain);
  WindowBinding unbindable = Binding(kBase, 8);
  unbindable.region = LinearRegion(kBase, kPage, kLocal).local;
  refused(unbindable, Refusal::kNotBindable);
  ASSERT_TRUE(Succeeds(core_.regions.SwapOut(unbindable.region)));
  refused(unbindable, Refusal::kSwappedOut);
}

TEST_F(WindowsTest, OnlyItsOwnKeyAndDomainBindAWindow) {
  const Key window = Allocate(WindowType::k1);
  ExpectBindRefused(Key(1), Binding(kBase, 8), Refusal::kNoSuchKey);
  ExpectBindRefused(region_.local, Binding(kBase, 8), Refusal::kWrongType);
  ExpectBindRefused(Key(window.value() ^ 1), Binding(kBase, 8), Refusal::kStaleVariant);
  const Accessor other{MakeDomain({}), me_.qp};
  ExpectUnchanged([&] {
    EXPECT_TRUE(
        FailsWith(core_.windows.Bind(window, Binding(kBase, 8), other), Refusal::kWrongDomain));
  });
}

TEST_F(WindowsTest, AWindowMayEndAt2To64) {
  const uint64_t start = kMax - kPage + 1;
  region_ = LinearRegion(start, kPage);
  const auto window = Bind(Allocate(WindowType::k1), Binding(kMax - 9, 10));
  ASSERT_TRUE(Succeeds(window));
  EXPECT_EQ(PiecesOf(Read(*window, kMax - 9, 10)), (Pieces{{kMax - 9, 10}}));
  EXPECT_EQ(PiecesOf(Read(*window, kMax, 1)), (Pieces{{kMax, 1}}));
  EXPECT_TRUE(IsRefused(Read(*window, kMax, 2), Refusal::kOutOfRange));
  EXPECT_TRUE(IsRefused(Read(*window, 0, 1), Refusal::kOutOfRange));
  ExpectBindRefused(*window, Binding(kMax - 9, 11), Refusal::kOutOfRange);
}

// Row A3.
TEST_F(WindowsTest, AType1WindowServesEveryQueuePairOfItsDomain) {
  const auto window = Bind(Allocate(WindowType::k1), Binding(kBase, 8));
  EXPECT_TRUE(IsReady(Read(*window, kBase, 8, {pd_, QpNumber(77)})));
  EXPECT_TRUE(IsRefused(Read(*window, kBase, 8, {PdId(9), me_.qp}), Refusal::kWrongDomain));
}

TEST_F(WindowsTest, AType2AWindowServesItsQueuePairAlone) {
  const auto window = Bind(Allocate(WindowType::k2A), Chosen(kBase, 8));
  ASSERT_TRUE(Succeeds(window));
  EXPECT_TRUE(IsReady(Read(*window, kBase, 8)));
  EXPECT_TRUE(IsReady(Read(*window, kBase, 8, {PdId(9), me_.qp})));
  EXPECT_TRUE(IsRefused(Read(*window, kBase, 8, {pd_, QpNumber(77)}), Refusal::kWrongQp));
}

TEST_F(WindowsTest, AType2BWindowServesItsQueuePairInItsDomain) {
  const auto window = Bind(Allocate(WindowType::k2B), Chosen(kBase, 8));
  ASSERT_TRUE(Succeeds(window));
  EXPECT_TRUE(IsReady(Read(*window, kBase, 8)));
  EXPECT_TRUE(IsRefused(Read(*window, kBase, 8, {PdId(9), me_.qp}), Refusal::kWrongDomain));
  EXPECT_TRUE(IsRefused(Read(*window, kBase, 8, {pd_, QpNumber(77)}), Refusal::kWrongQp));
}

class Type2Test : public WindowsTest, public testing::WithParamInterface<WindowType> {
 protected:
  Type2Test() { key_ = *Bind(Allocate(GetParam()), Chosen(kBase, 8)); }
  Key key_;
};

TEST_P(Type2Test, TheOwnerChoosesTheVariant) { EXPECT_EQ(key_.variant(), KeyVariant(200)); }

TEST_P(Type2Test, IsBoundAgainOnlyAfterInvalidation) {
  const WindowBinding again = Chosen(kBase + 8, 8, 3);
  ExpectBindRefused(key_, again, Refusal::kStillInUse);
  EXPECT_TRUE(IsReady(Read(key_, kBase, 8)));
  ASSERT_TRUE(Succeeds(core_.windows.Invalidate(key_, me_)));
  EXPECT_TRUE(IsRefused(Read(key_, kBase, 8), Refusal::kNotValid));
  EXPECT_EQ(EntryOf(region_.local).region.bound_windows, 0u);
  ExpectBindRefused(key_, Binding(kBase, 8), Refusal::kSameVariant);  // without a chosen variant
  const auto next = Bind(key_, again);
  ASSERT_TRUE(Succeeds(next));
  EXPECT_EQ(*next, Key(key_.index(), KeyVariant(3)));
  EXPECT_TRUE(IsRefused(Read(key_, kBase + 8, 8), Refusal::kStaleVariant));
}

// IBA 10.6.7.2.2 leaves the 8 bits to the consumer. Soft-RoCE had a check that they are new ones,
// and dropped it, because programs rely on its absence.
TEST_P(Type2Test, CanBeReboundWithTheSameKey) {
  ASSERT_TRUE(Succeeds(core_.windows.Invalidate(key_, me_)));
  const auto again = Bind(key_, Chosen(kBase + 8, 8));
  ASSERT_TRUE(Succeeds(again));
  EXPECT_EQ(*again, key_);
  EXPECT_TRUE(IsReady(Read(key_, kBase + 8, 8)));
  EXPECT_TRUE(IsRefused(Read(key_, kBase, 8), Refusal::kOutOfRange));
}

// The held key may still serve the replay of a read.
TEST_P(Type2Test, CannotBeReboundWithTheSameKeyWhileHeld) {
  ASSERT_TRUE(Succeeds(core_.windows.Invalidate(key_, me_)));
  WindowBinding once = Chosen(kBase, 8);
  once.one_touch = true;
  ASSERT_TRUE(Succeeds(Bind(key_, once)));
  core_.one_touch.Hold(key_);
  ExpectBindRefused(key_, Chosen(kBase, 8), Refusal::kSameVariant);
  EXPECT_TRUE(Succeeds(Bind(key_, Chosen(kBase, 8, 3))));
}

// A window that is an object of the program can be bound with any variant: flushed binds have not
// changed its key.
TEST_P(Type2Test, CanBeBoundByItsIndexAlone) {
  ASSERT_TRUE(Succeeds(core_.windows.Invalidate(key_, me_)));
  const Key never(key_.index(), KeyVariant(77));
  WindowBinding binding = Chosen(kBase + 8, 8, 3);
  ExpectBindRefused(never, binding, Refusal::kStaleVariant);
  binding.by_index = true;
  const auto bound = Bind(never, binding);
  ASSERT_TRUE(Succeeds(bound));
  EXPECT_EQ(*bound, Key(key_.index(), KeyVariant(3)));
}

TEST_P(Type2Test, IsNotUnboundByLengthZero) {
  ExpectBindRefused(key_, WindowBinding{}, Refusal::kOutOfRange);
  EXPECT_TRUE(IsReady(Read(key_, kBase, 8)));
}

TEST_P(Type2Test, OnlyItsQueuePairInvalidatesIt) {
  const auto refused = [&](Key key, const Accessor& who, Refusal refusal) {
    ExpectUnchanged([&] { EXPECT_TRUE(FailsWith(core_.windows.Invalidate(key, who), refusal)); });
  };
  refused(key_, {pd_, QpNumber(77)}, Refusal::kWrongQp);
  refused(Key(key_.value() ^ 1), me_, Refusal::kStaleVariant);
  refused(Key(1), me_, Refusal::kNoSuchKey);
  if (GetParam() == WindowType::k2B) refused(key_, {PdId(9), me_.qp}, Refusal::kWrongDomain);
  ASSERT_TRUE(Succeeds(core_.windows.Invalidate(key_, me_)));
  refused(key_, me_, Refusal::kNotValid);
}

INSTANTIATE_TEST_SUITE_P(Types, Type2Test, testing::Values(WindowType::k2A, WindowType::k2B));

TEST_F(WindowsTest, Type1WindowsAndRegionsAreNotInvalidatedHere) {
  const auto window = Bind(Allocate(WindowType::k1), Binding(kBase, 8));
  EXPECT_TRUE(FailsWith(core_.windows.Invalidate(*window, me_), Refusal::kNotInvalidable));
  EXPECT_TRUE(FailsWith(core_.windows.Invalidate(region_.local, me_), Refusal::kWrongType));
  EXPECT_TRUE(IsReady(Read(*window, kBase, 8)));
}

TEST_F(WindowsTest, DeallocateUnbindsAndEndsTheKey) {
  const auto window = Bind(Allocate(WindowType::k1), Binding(kBase, 8));
  ASSERT_TRUE(Succeeds(core_.windows.Deallocate(*window)));
  EXPECT_TRUE(IsRefused(Read(*window, kBase, 8), Refusal::kNoSuchKey));
  EXPECT_TRUE(FailsWith(core_.windows.Deallocate(*window), MemoryError::kNoSuchKey));
  EXPECT_TRUE(FailsWith(core_.windows.Deallocate(region_.local), MemoryError::kWrongType));
  EXPECT_TRUE(Succeeds(core_.regions.Deregister(region_.local)));
  EXPECT_EQ(core_.domains.Find(pd_)->users, 0u);
}

TEST_F(WindowsTest, AllocateNeedsADomain) {
  ExpectUnchanged([&] {
    EXPECT_TRUE(
        FailsWith(core_.windows.Allocate(PdId(9), WindowType::k1), MemoryError::kNoSuchDomain));
  });
}

TEST(WindowsLimitTest, AFullTableAllocatesNoMore) {
  MemoryCore core(MemoryOptions{.key_slots_max = 2});
  const PdId pd = *core.domains.Allocate(*core.consumers.Open({}));
  ASSERT_TRUE(Succeeds(core.windows.Allocate(pd, WindowType::k1)));
  EXPECT_TRUE(FailsWith(core.windows.Allocate(pd, WindowType::k1), MemoryError::kLimitReached));
  EXPECT_EQ(core.domains.Find(pd)->users, 1u);
}

// Row A2: the owner must have the memory itself, at the bind and at the unbind.
TEST_F(WindowsTest, TheOwnersSegmentsAreCheckedAtBindAndUnbind) {
  pd_ = MakeDomain({.has_segments = true, .table = ConsumerSpec::PrivateTable{}});
  me_.pd = pd_;
  const Segment segment{EffectiveAddress(kBase), kPage, VirtualAddress(0), Access::kLocalRead};
  const auto update = [&](SegmentChange change) {
    ASSERT_TRUE(Succeeds(core_.consumers.SegmentTableUpdate(OwnerOf(pd_), change, segment)));
  };
  update(SegmentChange::kAdd);
  const RegionSpec spec{.pd = pd_, .start = KeyAddress(0), .length = kMax, .rights = Access::kAll};
  region_ = *core_.regions.Register(spec, AddressSpaceBacking{});
  const Key window = Allocate(WindowType::k1);
  ExpectBindRefused(window, Binding(kBase, 8, Access::kRemoteWrite), Refusal::kOwnerHasNoRight);
  ExpectBindRefused(window, Binding(kBase, kPage + 1, Access::kRemoteRead),
                    Refusal::kOwnerHasNoRight);
  const auto bound = Bind(window, Binding(kBase, kPage, Access::kRemoteRead));
  ASSERT_TRUE(Succeeds(bound));
  update(SegmentChange::kDelete);
  ExpectBindRefused(*bound, WindowBinding{}, Refusal::kOwnerHasNoRight);
  update(SegmentChange::kAdd);
  EXPECT_TRUE(Succeeds(Bind(*bound, WindowBinding{})));
}

}  // namespace
}  // namespace verbena::memory
