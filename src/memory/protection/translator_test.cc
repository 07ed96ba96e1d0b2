// From granted bytes to machine memory: spans, faults, two stages, segments.
// translator_checks_test.cc tests the checks.

#include "memory/protection/translator.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kBase = 0x100000;

class TranslatorTest : public MemoryFixture {
 protected:
  RegionSpec Spec(uint64_t start, uint64_t length) const {
    return {.pd = pd_, .start = KeyAddress(start), .length = length, .rights = Access::kAll};
  }
  Key Scattered(const std::vector<PhysicalAddress>& pages, PageShift shift = kSmall,
                bool writable = true) {
    const auto keys = core_.regions.Register(Spec(0, pages.size() * shift.bytes()),
                                             PageListBacking{pages, 0, shift, writable, guest_});
    EXPECT_TRUE(Succeeds(keys));
    return keys->local;
  }
  // Every second page of machine memory, so that no two are contiguous.
  static std::vector<PhysicalAddress> Gaps(size_t count) {
    std::vector<PhysicalAddress> pages;
    for (size_t i = 0; i < count; ++i) pages.emplace_back(kBase + 2 * i * kPage);
    return pages;
  }
  GuestKey guest_ = kHost;

  static void ExpectFault(const Translation& translation, const Fault& expected) {
    const Fault* fault = AsFault(translation);
    ASSERT_NE(fault, nullptr);
    EXPECT_EQ(*fault, expected);
  }
};

TEST_F(TranslatorTest, ContiguousPagesAreOneSpan) {
  const Key key = Scattered(Pages({0x5000, 0x6000, 0x2000}));
  EXPECT_EQ(PiecesOf(Translate(key, 10, 3 * kPage - 10, AccessKind::kLocalRead)),
            (Pieces{{0x500a, 2 * kPage - 10}, {0x2000, kPage}}));
  EXPECT_EQ(PiecesOf(Translate(key, 2 * kPage - 1, 2, AccessKind::kLocalWrite)),
            (Pieces{{0x6fff, 1}, {0x2000, 1}}));
}

TEST_F(TranslatorTest, AnAccessOfTooManySpansIsReadyInPart) {
  const Key key = Scattered(Gaps(SpanList::kCapacity + 3));
  const uint64_t all = (SpanList::kCapacity + 3) * kPage;
  const Translation first = Translate(key, 1, all - 1, AccessKind::kLocalRead);
  ASSERT_TRUE(IsReady(first));
  const uint64_t done = AsReady(first)->spans.length();
  EXPECT_EQ(done, SpanList::kCapacity * kPage - 1);
  const Translation rest = Translate(key, 1 + done, all - 1 - done, AccessKind::kLocalRead);
  ASSERT_TRUE(IsReady(rest));
  EXPECT_EQ(AsReady(rest)->spans.length(), 3 * kPage);
  EXPECT_EQ(AsReady(rest)->spans[0].address.value(), kBase + 2 * SpanList::kCapacity * kPage);
}

TEST_F(TranslatorTest, AHostAccessHasNoSecondStage) {
  ASSERT_TRUE(Succeeds(core_.guests.Create({.memory_bytes = kPage})));
  EXPECT_EQ(PiecesOf(Translate(Scattered(Gaps(1)), 0, 1, AccessKind::kLocalRead)),
            (Pieces{{kBase, 1}}));
}

TEST_F(TranslatorTest, AFaultRunsFromTheFirstMissingPageToTheLast) {
  const Key key = Scattered(Gaps(8));
  for (const uint64_t page : {2u, 4u, 7u}) {
    ASSERT_TRUE(Succeeds(core_.regions.UnmapPages(key, page, 1)));
  }
  const Fault expected{.stage = Stage::kFirst,
                       .for_write = false,
                       .region = key,
                       .guest = kHost,
                       .page_shift = kSmall,
                       .first_page = 2,
                       .page_count = 3};
  ExpectFault(Translate(key, kPage, 5 * kPage, AccessKind::kLocalRead), expected);
  EXPECT_TRUE(IsReady(Translate(key, 0, 2 * kPage, AccessKind::kLocalRead)));
  Fault last = expected;
  last.first_page = 7;
  last.page_count = 1;
  last.for_write = true;
  ExpectFault(Translate(key, 8 * kPage - 1, 1, AccessKind::kLocalWrite), last);
}

TEST_F(TranslatorTest, AFaultThroughAWindowNamesTheRegion) {
  const Key region = Scattered(Gaps(2));
  const auto window = core_.windows.Bind(*core_.windows.Allocate(pd_, WindowType::k1),
                                         {.region = region,
                                          .start = KeyAddress(kPage + 1),
                                          .length = 8,
                                          .rights = Access::kRemoteRead,
                                          .zero_based = true,
                                          .variant = {}},
                                         me_);
  ASSERT_TRUE(Succeeds(core_.regions.UnmapPages(region, 1, 1)));
  const Translation translation = Translate(*window, 0, 8, AccessKind::kRemoteRead);
  ASSERT_NE(AsFault(translation), nullptr);
  EXPECT_EQ(AsFault(translation)->region, region);
  EXPECT_EQ(AsFault(translation)->first_page, 1u);
}

TEST_F(TranslatorTest, AReadOnlyPageIsMissingForWritersOnly) {
  const Key key = Scattered(Gaps(2), kSmall, false);
  EXPECT_TRUE(IsReady(Translate(key, 0, 2 * kPage, AccessKind::kLocalRead)));
  const Translation translation = Translate(key, 0, 2 * kPage, AccessKind::kLocalWrite);
  ASSERT_NE(AsFault(translation), nullptr);
  EXPECT_TRUE(AsFault(translation)->for_write);
  EXPECT_EQ(AsFault(translation)->page_count, 2u);
}

TEST_F(TranslatorTest, AtomicsAreOnEightAlignedBytes) {
  const Key key = Scattered(Gaps(2));
  EXPECT_TRUE(IsReady(Translate(key, 8, 8, AccessKind::kRemoteAtomic)));
  EXPECT_TRUE(IsReady(Translate(key, kPage - 8, 8, AccessKind::kRemoteAtomic)));
  for (const uint64_t address : {1u, 2u, 4u, 7u}) {
    EXPECT_TRUE(
        IsRefused(Translate(key, address, 8, AccessKind::kRemoteAtomic), Refusal::kMisaligned));
  }
  for (const uint64_t length : {1u, 4u, 7u, 16u}) {
    EXPECT_TRUE(
        IsRefused(Translate(key, 0, length, AccessKind::kRemoteAtomic), Refusal::kMisaligned));
  }
}

TEST_F(TranslatorTest, AnAtomicThatIsAlignedForThePeerOnlyIsRefused) {
  const auto keys = core_.regions.Register(Spec(0, 64), LinearBacking{PhysicalAddress(kBase + 4)});
  ASSERT_TRUE(Succeeds(core_.regions.MapPages(keys->local, 0, 1, std::nullopt, true)));
  EXPECT_TRUE(
      IsRefused(Translate(keys->remote, 8, 8, AccessKind::kRemoteAtomic), Refusal::kMisaligned));
  EXPECT_TRUE(IsReady(Translate(keys->remote, 8, 8, AccessKind::kRemoteWrite)));
}

class TwoStageTest : public TranslatorTest {
 protected:
  TwoStageTest() { guest_ = *core_.guests.Create({.memory_bytes = 4 * kLarge.bytes()}); }
  void MapGuest(uint64_t physical, uint64_t count, uint64_t machine, bool writable = true) {
    ASSERT_TRUE(Succeeds(core_.guests.Map(guest_, PhysicalAddress(physical), count,
                                          MachineAddress(machine), writable)));
  }
  Key Contiguous(uint64_t physical, uint64_t length) {
    const auto keys = core_.regions.Register(
        Spec(0, length), LinearBacking{PhysicalAddress(physical), kSmall, guest_});
    EXPECT_TRUE(Succeeds(keys));
    EXPECT_TRUE(Succeeds(
        core_.regions.MapPages(keys->local, 0, PageCount(physical, length, kSmall), {}, true)));
    return keys->local;
  }
};

// Row E6: a 2 MiB page of the guest lies over 4 KiB pages of the machine.
TEST_F(TwoStageTest, ALargePageOfTheGuestIsTranslatedPerMachinePage) {
  const Key key = Scattered(Pages({kLarge.bytes()}), kLarge);
  MapGuest(kLarge.bytes() + 3 * kPage, 1, 0x70000);
  MapGuest(kLarge.bytes() + 4 * kPage, 1, 0x20000);
  const Translation translation = Translate(key, 4 * kPage - 6, 16, AccessKind::kLocalWrite);
  EXPECT_EQ(PiecesOf(translation), (Pieces{{0x70ffa, 6}, {0x20000, 10}}));
}

TEST_F(TwoStageTest, HostAndGuestAreSideBySideInOneDomain) {
  MapGuest(0x2000, 1, 0x70000);
  const Key in_guest = Contiguous(0x2000, kPage);
  const RegionKeys host = LinearRegion(0x2000, kPage);
  EXPECT_EQ(PiecesOf(Translate(in_guest, 5, 3, AccessKind::kLocalRead)), (Pieces{{0x70005, 3}}));
  EXPECT_EQ(PiecesOf(Translate(host.local, 0x2005, 3, AccessKind::kLocalRead)),
            (Pieces{{0x2005, 3}}));
}

// Row E6: the answer in brief is the answer in full, at every border.
TEST_F(TwoStageTest, TheFastPathAgreesWithTheFullAnswer) {
  MapGuest(0x2000, 2, 0x70000);
  MapGuest(0x4000, 1, 0x20000, false);
  const Key key = Contiguous(0x2800, 3 * kPage);
  for (const AccessKind access : {AccessKind::kLocalRead, AccessKind::kLocalWrite}) {
    for (uint64_t at = 0; at < 3 * kPage; at += 512) {
      for (const uint64_t length : {uint64_t{1}, uint64_t{512}, kPage}) {
        const auto brief =
            core_.translator.FindSingleSpan(key, KeyAddress(at), length, access, me_);
        if (!brief.is_there) continue;
        EXPECT_EQ(PiecesOf(Translate(key, at, length, access)),
                  (Pieces{{brief.at.value(), length}}));
        const uint64_t last = 0x2800 + at + length - 1;
        EXPECT_LT(last, access == AccessKind::kLocalRead ? 0x5000u : 0x4000u);
      }
    }
  }
  EXPECT_TRUE(
      core_.translator.FindSingleSpan(key, KeyAddress(0x800), 1, AccessKind::kLocalWrite, me_)
          .is_there);
}

// Row E8: the guest that a key yields is found again only while it is there.
TEST_F(TwoStageTest, TheKeyOfADestroyedGuestIsRefused) {
  MapGuest(0x2000, 1, 0x70000);
  const Key key = Contiguous(0x2000, kPage);
  ASSERT_TRUE(IsReady(Translate(key, 0, 8, AccessKind::kLocalRead)));
  ASSERT_TRUE(Succeeds(core_.guests.Destroy(guest_)));
  const GuestKey next = *core_.guests.Create({.memory_bytes = 4 * kLarge.bytes()});
  ASSERT_TRUE(
      Succeeds(core_.guests.Map(next, PhysicalAddress(0x2000), 1, MachineAddress(0x90000), true)));
  EXPECT_TRUE(IsRefused(Translate(key, 0, 8, AccessKind::kLocalRead), Refusal::kGuestGone));
}

// Row E7.
TEST_F(TwoStageTest, EachStageReportsItsOwnFault) {
  const Key key = Scattered(Pages({0x2000, 0x8000}));
  Fault expected{.stage = Stage::kSecond,
                 .for_write = true,
                 .region = key,
                 .guest = guest_,
                 .page_shift = kSmall,
                 .first_page = 2,
                 .page_count = 1};
  ExpectFault(Translate(key, 0, 2 * kPage, AccessKind::kLocalWrite), expected);
  MapGuest(0x2000, 1, 0x70000);
  expected.first_page = 8;
  ExpectFault(Translate(key, 0, 2 * kPage, AccessKind::kLocalWrite), expected);
  ASSERT_TRUE(Succeeds(core_.regions.UnmapPages(key, 1, 1)));
  expected.stage = Stage::kFirst;
  expected.first_page = 1;
  ExpectFault(Translate(key, 0, 2 * kPage, AccessKind::kLocalWrite), expected);
}

TEST_F(TwoStageTest, ASecondStageFaultCoversAllPagesOfASpan) {
  const Key key = Scattered(Pages({0}), kLarge);
  MapGuest(0, 1, 0x70000);
  MapGuest(4 * kPage, 1, 0x90000);
  const Translation translation = Translate(key, 0, 5 * kPage, AccessKind::kLocalRead);
  ASSERT_NE(AsFault(translation), nullptr);
  EXPECT_EQ(AsFault(translation)->first_page, 1u);
  EXPECT_EQ(AsFault(translation)->page_count, 3u);
}

TEST_F(TwoStageTest, ASecondStageFaultRequestsAllContiguousPages) {
  const Key key = Contiguous(0x2000, 8 * kPage);
  MapGuest(0x4000, 1, 0x70000);
  const Translation translation = Translate(key, 10, 6 * kPage, AccessKind::kLocalRead);
  ASSERT_NE(AsFault(translation), nullptr);
  EXPECT_EQ(AsFault(translation)->stage, Stage::kSecond);
  EXPECT_EQ(AsFault(translation)->first_page, 2u);
  EXPECT_EQ(AsFault(translation)->page_count, 7u);
}

TEST_F(TwoStageTest, PagesThatAreNotSideBySideAreSeparateFaults) {
  const Key key = Scattered(Pages({0x2000, 0x3000, 0x8000}));
  const Translation translation = Translate(key, 0, 3 * kPage, AccessKind::kLocalRead);
  ASSERT_NE(AsFault(translation), nullptr);
  EXPECT_EQ(AsFault(translation)->first_page, 2u);
  EXPECT_EQ(AsFault(translation)->page_count, 2u);
}

// A page comes and goes for all regions of a guest at once.
TEST_F(TwoStageTest, RegionsOnTheSameBytesShareTheSecondStage) {
  const Key one = Contiguous(0x2000, kPage);
  const Key two = Contiguous(0x2000, kPage);
  EXPECT_NE(AsFault(Translate(one, 0, 8, AccessKind::kLocalRead)), nullptr);
  MapGuest(0x2000, 1, 0x70000);
  EXPECT_TRUE(IsReady(Translate(one, 0, 8, AccessKind::kLocalRead)));
  EXPECT_TRUE(IsReady(Translate(two, 0, 8, AccessKind::kLocalRead)));
  EXPECT_EQ(core_.InvalidateMachine(MachineAddress(0x70000), MachineAddress(0x70fff)), 1u);
  for (const Key key : {one, two}) {
    const Translation gone = Translate(key, 0, 8, AccessKind::kLocalRead);
    ASSERT_NE(AsFault(gone), nullptr);
    EXPECT_EQ(AsFault(gone)->stage, Stage::kSecond);
  }
}

TEST_F(TwoStageTest, APageThatTheHostMadeReadOnlyFaultsForWritersInTheSecondStage) {
  const Key key = Scattered(Pages({0}));
  MapGuest(0, 1, 0x70000, false);
  EXPECT_TRUE(IsReady(Translate(key, 0, 8, AccessKind::kLocalRead)));
  const Translation translation = Translate(key, 0, 8, AccessKind::kLocalWrite);
  ASSERT_NE(AsFault(translation), nullptr);
  EXPECT_EQ(AsFault(translation)->stage, Stage::kSecond);
}

TEST_F(TwoStageTest, MemoryThatTheGuestDoesNotHaveIsNeverReached) {
  for (const uint64_t outside : {4 * kLarge.bytes(), kMax - kPage + 1}) {
    const Key key = Scattered(Pages({outside}));
    const Translation translation = Translate(key, 0, kPage, AccessKind::kLocalRead);
    ASSERT_NE(AsFault(translation), nullptr);
    EXPECT_EQ(AsFault(translation)->stage, Stage::kSecond);
  }
}

// Row A7: a process whose address space is flat, with a guest's memory at some of its addresses.
TEST_F(TwoStageTest, ASegmentOfAGuestIsReachedThroughTheAddressSpace) {
  const PdId pd = MakeDomain({.has_segments = true,
                              .is_flat_outside = true,
                              .table = ConsumerSpec::PrivateTable{.identity = true}});
  me_.pd = pd;
  const RegionSpec spec{.pd = pd, .start = KeyAddress(0), .length = kMax, .rights = Access::kAll};
  const Key key = core_.regions.Register(spec, AddressSpaceBacking{})->local;
  const Segment segment{.start = EffectiveAddress(0x8000),
                        .length = 2 * kPage,
                        .base = VirtualAddress(0x3000),
                        .rights = kLocal,
                        .guest = guest_};
  ASSERT_TRUE(
      Succeeds(core_.consumers.SegmentTableUpdate(OwnerOf(pd), SegmentChange::kAdd, segment)));
  for (const uint64_t page : {0x7000u, 0xa000u}) {
    ASSERT_TRUE(Succeeds(core_.consumers.MapLocalPage(OwnerOf(pd), VirtualAddress(page),
                                                      PhysicalAddress(page), true)));
  }
  Fault expected{.stage = Stage::kSecond,
                 .for_write = false,
                 .region = key,
                 .guest = guest_,
                 .page_shift = kSmall,
                 .first_page = 3,
                 .page_count = 2};
  ExpectFault(Translate(key, 0x7800, 4 * kPage - 0x1000, AccessKind::kLocalRead), expected);
  MapGuest(0x3000, 1, 0x70000);
  MapGuest(0x4000, 1, 0x20000);
  EXPECT_EQ(PiecesOf(Translate(key, 0x7800, 4 * kPage - 0x1000, AccessKind::kLocalRead)),
            (Pieces{{0x7800, 0x800}, {0x70000, kPage}, {0x20000, kPage}, {0xa000, 0x800}}));
  ASSERT_TRUE(Succeeds(core_.guests.Destroy(guest_)));
  EXPECT_TRUE(IsRefused(Translate(key, 0x8000, 1, AccessKind::kLocalRead), Refusal::kGuestGone));
}

class SegmentsTest : public TranslatorTest {
 protected:
  SegmentsTest() {
    pd_ = MakeDomain(
        {.privileged = true, .has_segments = true, .table = ConsumerSpec::PrivateTable{}});
    me_.pd = pd_;
    Add(0x1000, 0x1800, 0x501000, kLocal);
    Add(0x2800, 0x800, 0x900800, Access::kLocalRead);
    Map(0x501000, 0x10000);
    Map(0x502000, 0x20000);
    Map(0x900000, 0x30000);
    key_ = core_.regions.Register(Spec(0, kMax), AddressSpaceBacking{})->local;
  }
  void Add(uint64_t start, uint64_t length, uint64_t base, Access rights) {
    ASSERT_TRUE(Succeeds(core_.consumers.SegmentTableUpdate(
        OwnerOf(pd_), SegmentChange::kAdd,
        {EffectiveAddress(start), length, VirtualAddress(base), rights})));
  }
  void Map(uint64_t page, uint64_t where) {
    ASSERT_TRUE(Succeeds(core_.consumers.MapLocalPage(OwnerOf(pd_), VirtualAddress(page),
                                                      PhysicalAddress(where), true)));
  }
  Key key_;
};

// Row A7: effective -> virtual -> physical.
TEST_F(SegmentsTest, AnAccessCrossesSegmentsAndPages) {
  EXPECT_EQ(PiecesOf(Translate(key_, 0x1ff0, 0x820, AccessKind::kLocalRead)),
            (Pieces{{0x10ff0, 0x10}, {0x20000, 0x800}, {0x30800, 0x10}}));
}

TEST_F(SegmentsTest, MemoryOutsideOfTheOwnersSegmentsIsRefused) {
  EXPECT_TRUE(IsRefused(Translate(key_, 0xfff, 1, AccessKind::kLocalRead), Refusal::kNoSegment));
  EXPECT_TRUE(IsRefused(Translate(key_, 0x2fff, 2, AccessKind::kLocalRead), Refusal::kNoSegment));
}

TEST_F(SegmentsTest, NoAccessExceedsTheRightsOfTheOwner) {
  EXPECT_TRUE(IsReady(Translate(key_, 0x2800, 8, AccessKind::kRemoteRead)));
  EXPECT_TRUE(
      IsRefused(Translate(key_, 0x2800, 8, AccessKind::kRemoteWrite), Refusal::kOwnerHasNoRight));
  EXPECT_TRUE(
      IsRefused(Translate(key_, 0x27ff, 2, AccessKind::kLocalWrite), Refusal::kOwnerHasNoRight));
}

TEST_F(SegmentsTest, AFaultNamesVirtualPages) {
  ASSERT_TRUE(Succeeds(core_.consumers.UnmapLocalPage(OwnerOf(pd_), VirtualAddress(0x502000))));
  const Translation translation = Translate(key_, 0x1ff0, 0x20, AccessKind::kLocalWrite);
  ASSERT_NE(AsFault(translation), nullptr);
  EXPECT_EQ(AsFault(translation)->first_page, 0x502u);
  EXPECT_EQ(AsFault(translation)->page_count, 1u);
  EXPECT_EQ(AsFault(translation)->region, key_);
}

TEST_F(SegmentsTest, PrivilegedConsumersMayUseVirtualAddresses) {
  RegionSpec spec = Spec(0x501000, 2 * kPage);
  spec.address_kind = AddressKind::kVirtual;
  const auto keys = core_.regions.Register(spec, AddressSpaceBacking{});
  ASSERT_TRUE(Succeeds(keys));
  EXPECT_EQ(PiecesOf(Translate(keys->local, 0x501ff8, 16, AccessKind::kLocalWrite)),
            (Pieces{{0x10ff8, 8}, {0x20000, 8}}));
}

TEST_F(TranslatorTest, ANullRegionReadsZerosAndDiscardsWrites) {
  const RegionSpec spec{.pd = pd_,
                        .start = KeyAddress(0),
                        .length = kMax,
                        .rights = Access::kLocalRead | Access::kLocalWrite};
  const auto keys = core_.regions.Register(spec, NullBacking{});
  ASSERT_TRUE(Succeeds(keys));
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x1234567}, kMax - 8}) {
    const auto write = Translate(keys->local, address, 8, AccessKind::kLocalWrite);
    const Ready* const scrap = AsReady(write);
    ASSERT_NE(scrap, nullptr);
    std::memset(PointerTo(scrap->spans[0].address), 0xFF, 8);
    const auto read = Translate(keys->local, address, 8, AccessKind::kLocalRead);
    const Ready* const zeros = AsReady(read);
    ASSERT_NE(zeros, nullptr);
    uint64_t word = 1;
    std::memcpy(&word, PointerTo(zeros->spans[0].address), sizeof word);
    EXPECT_EQ(word, 0U);
  }
  // Long accesses are translated in parts.
  const auto part = Translate(keys->local, 0, 1 << 20, AccessKind::kLocalRead);
  EXPECT_EQ(AsReady(part)->spans.length(), 8U * 4096);
  EXPECT_TRUE(IsRefused(Translate(keys->remote, 0, 8, AccessKind::kRemoteRead), Refusal::kNoRight));
  EXPECT_TRUE(
      IsRefused(Translate(keys->local, kMax - 7, 9, AccessKind::kLocalRead), Refusal::kOutOfRange));
}

}  // namespace
}  // namespace verbena::memory
