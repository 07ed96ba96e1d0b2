#include "memory/protection/page_walker.h"

#include <gtest/gtest.h>

#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

// Tests the walker alone, which relies on the checks before it. translator_test.cc tests faults and
// spans through the Translator.
class PageWalkerTest : public MemoryFixture {
 protected:
  PageWalkerTest() {
    const auto pages = Pages({0x5000, 0x2000, 0x9000});
    const RegionSpec spec{
        .pd = pd_, .start = KeyAddress(0), .length = 2 * kPage, .rights = Access::kAll};
    list_ = core_.regions.Register(spec, PageListBacking{pages, 0x800, kSmall})->local;
  }
  Translation Walk(Key key, uint64_t offset, uint64_t length, bool writes) {
    Translation result;
    PageWalker(EntryOf(key), core_.guests, writes).ThroughTable(offset, length, result);
    return result;
  }
  Key list_;
};

TEST_F(PageWalkerTest, CountsFromTheFirstByteOfTheRegion) {
  EXPECT_EQ(PiecesOf(Walk(list_, 0, 1, false)), (Pieces{{0x5800, 1}}));
  EXPECT_EQ(PiecesOf(Walk(list_, 0x800, 1, false)), (Pieces{{0x2000, 1}}));
  EXPECT_EQ(PiecesOf(Walk(list_, 0, 2 * kPage, false)),
            (Pieces{{0x5800, 0x800}, {0x2000, kPage}, {0x9000, 0x800}}));
}

TEST_F(PageWalkerTest, EndsAsAFaultAtTheFirstMissingPage) {
  ASSERT_TRUE(Succeeds(core_.regions.UnmapPages(list_, 1, 2)));
  const Translation translation = Walk(list_, 0, 2 * kPage, true);
  ASSERT_NE(AsFault(translation), nullptr);
  EXPECT_EQ(AsFault(translation)->first_page, 1u);
  EXPECT_EQ(AsFault(translation)->page_count, 2u);
  EXPECT_TRUE(AsFault(translation)->for_write);
  EXPECT_TRUE(IsReady(Walk(list_, 0, 0x800, true)));
}

TEST_F(PageWalkerTest, FollowsTheOwnersPageTable) {
  const RegionSpec spec{.pd = pd_, .start = KeyAddress(0x7000), .length = 2 * kPage, .rights = {}};
  const Key key = core_.regions.Register(spec, AddressSpaceBacking{})->local;
  ASSERT_TRUE(Succeeds(core_.consumers.MapLocalPage(OwnerOf(pd_), VirtualAddress(0x8000),
                                                    PhysicalAddress(0x3000), false)));
  const PageWalker reader(EntryOf(key), core_.guests, false);
  const PageWalker writer(EntryOf(key), core_.guests, true);
  const Consumer& owner = *core_.domains.OwnerOf(pd_);
  Translation read, write, missing;
  reader.ThroughAddressSpace(owner, kPage + 2, 4, read);
  EXPECT_EQ(PiecesOf(read), (Pieces{{0x3002, 4}}));
  writer.ThroughAddressSpace(owner, kPage, 4, write);
  ASSERT_NE(AsFault(write), nullptr);
  EXPECT_EQ(AsFault(write)->first_page, 8u);
  reader.ThroughAddressSpace(owner, 0, kPage + 1, missing);
  ASSERT_NE(AsFault(missing), nullptr);
  EXPECT_EQ(AsFault(missing)->first_page, 7u);
  EXPECT_EQ(AsFault(missing)->page_count, 1u);
}

TEST_F(PageWalkerTest, AnAddressSpaceMayEndAt2To64) {
  std::vector<std::atomic<uint64_t>> none;
  const PdId pd = MakeDomain({.table = ConsumerSpec::SharedTable{none}});
  const RegionSpec spec{.pd = pd, .start = KeyAddress(kMax - 9), .length = 10, .rights = {}};
  const Key key = core_.regions.Register(spec, AddressSpaceBacking{})->local;
  Translation result;
  PageWalker(EntryOf(key), core_.guests, false)
      .ThroughAddressSpace(*core_.domains.OwnerOf(pd), 0, 10, result);
  ASSERT_NE(AsFault(result), nullptr);
  EXPECT_EQ(AsFault(result)->first_page, kMax / kPage);
  EXPECT_EQ(AsFault(result)->page_count, 1u);
}

}  // namespace
}  // namespace verbena::memory
