#include "memory/spaces/page_table.h"

#include <array>
#include <atomic>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/memory_fixture.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kPages = 32;   // virtual pages of the consumer
constexpr uint64_t kFrames = 48;  // of physical memory
constexpr ConsumerId kOwner{1};

VirtualAddress Page(uint64_t number) { return VirtualAddress(number * kPage); }
PhysicalAddress Frame(uint64_t number) { return PhysicalAddress(number * kPage); }

// Row A8: the same history in each of the three kinds of table.
struct PrivateKind {
  void Map(uint64_t page, uint64_t frame, bool writable) {
    EXPECT_TRUE(Succeeds(table.Map(store, Page(page), Frame(frame), writable)));
  }
  void Unmap(uint64_t page) { EXPECT_TRUE(Succeeds(table.Unmap(store, Page(page)))); }

  TranslationStore store{1};
  PageTable table{PageTable::Private{
      *store.Create(kPages, PageTable::kPageShift, kMachineSpace, std::nullopt)}};
};

struct SharedKind {
  void Map(uint64_t page, uint64_t frame, bool writable) {
    entries[page].store(PageEntry(Frame(frame), writable).bits(), std::memory_order_release);
  }
  void Unmap(uint64_t page) { entries[page].store(0, std::memory_order_release); }

  std::array<std::atomic<uint64_t>, kPages> entries{};
  TranslationStore store{1};
  PageTable table{PageTable::Shared{entries}};
};

struct InvertedKind {
  void Map(uint64_t page, uint64_t frame, bool writable) {
    EXPECT_TRUE(Succeeds(table.Map(store, Page(page), Frame(frame), writable)));
    EXPECT_TRUE(inverted.IsConsistent());
  }
  void Unmap(uint64_t page) { EXPECT_TRUE(Succeeds(table.Unmap(store, Page(page)))); }

  InvertedPageTable inverted{PhysicalAddress(0), kFrames};
  TranslationStore store{1};
  PageTable table{PageTable::Inverted{&inverted, kOwner}};
};

template <class Kind>
class PageTableTest : public testing::Test {
 protected:
  Kind kind_;
};

using Kinds = testing::Types<PrivateKind, SharedKind, InvertedKind>;
TYPED_TEST_SUITE(PageTableTest, Kinds);

TYPED_TEST(PageTableTest, StartsWithNothingPresent) {
  for (uint64_t page = 0; page < kPages; ++page) {
    EXPECT_FALSE(this->kind_.table.Find(Page(page)).present());
  }
}

TYPED_TEST(PageTableTest, EveryByteOfAPageFindsThePage) {
  this->kind_.Map(3, 7, false);
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, kPage - 1}) {
    EXPECT_EQ(this->kind_.table.Find(VirtualAddress(3 * kPage + offset)),
              PageEntry(Frame(7), false));
  }
  EXPECT_FALSE(this->kind_.table.Find(VirtualAddress(3 * kPage - 1)).present());
  EXPECT_FALSE(this->kind_.table.Find(Page(4)).present());
}

TYPED_TEST(PageTableTest, BeyondTheTableNothingIsPresent) {
  this->kind_.Map(kPages - 1, 0, true);
  EXPECT_FALSE(this->kind_.table.Find(Page(kPages)).present());
  EXPECT_FALSE(this->kind_.table.Find(VirtualAddress(kMax)).present());
}

TYPED_TEST(PageTableTest, GivesTheSameAnswersToTheSameHistory) {
  Random random(23);
  std::array<PageEntry, kPages> model{};
  for (int step = 0; step < 2000; ++step) {
    const uint64_t page = random.Below(kPages);
    const uint64_t frame = random.Below(kFrames);
    const bool frame_is_free = std::ranges::none_of(
        model, [&](PageEntry e) { return e.present() && e.address() == Frame(frame); });
    if (random.Chance(1, 2) && frame_is_free) {
      const bool writable = random.Chance(1, 2);
      this->kind_.Map(page, frame, writable);
      model[page] = PageEntry(Frame(frame), writable);
    } else if (model[page].present()) {
      this->kind_.Unmap(page);
      model[page] = PageEntry();
    }
    for (uint64_t i = 0; i < kPages; ++i) ASSERT_EQ(this->kind_.table.Find(Page(i)), model[i]);
  }
  EXPECT_TRUE(this->kind_.store.IsConsistent());
}

TYPED_TEST(PageTableTest, AddressesInsideAPageAreRefused) {
  TranslationStore& store = this->kind_.store;
  EXPECT_TRUE(FailsWith(this->kind_.table.Map(store, VirtualAddress(1), Frame(0), true),
                        MemoryError::kMisaligned));
  EXPECT_TRUE(
      FailsWith(this->kind_.table.Unmap(store, VirtualAddress(1)), MemoryError::kMisaligned));
}

TEST(PrivatePageTableTest, RefusesAbsentPages) {
  PrivateKind kind;
  EXPECT_TRUE(FailsWith(kind.table.Unmap(kind.store, Page(0)), MemoryError::kNotMapped));
  EXPECT_TRUE(FailsWith(kind.table.Unmap(kind.store, Page(kPages)), MemoryError::kNotMapped));
  EXPECT_TRUE(FailsWith(kind.table.Map(kind.store, Page(kPages), Frame(0), true),
                        MemoryError::kOutOfRange));
  EXPECT_TRUE(FailsWith(kind.table.Map(kind.store, Page(0), PhysicalAddress(8), true),
                        MemoryError::kMisaligned));
}

TEST(PrivatePageTableTest, CloseGivesTheTableBack) {
  PrivateKind kind;
  kind.Map(0, 0, true);
  kind.table.Close(kind.store);
  EXPECT_EQ(kind.store.table_count(), 0u);
  EXPECT_EQ(kind.store.reverse_record_count(), 0u);
}

TEST(SharedPageTableTest, IsChangedByItsOwnerOnly) {
  SharedKind kind;
  EXPECT_TRUE(FailsWith(kind.table.Map(kind.store, Page(0), Frame(0), true),
                        MemoryError::kOwnedByTheSystem));
  EXPECT_TRUE(FailsWith(kind.table.Unmap(kind.store, Page(0)), MemoryError::kOwnedByTheSystem));
  kind.Map(0, 5, true);
  kind.table.Close(kind.store);
  EXPECT_EQ(kind.table.Find(Page(0)).address(), Frame(5));
}

TEST(InvertedPageTableKindTest, CloseGivesTheFramesBackToOthers) {
  InvertedKind kind;
  kind.Map(0, 5, true);
  PageTable other(PageTable::Inverted{&kind.inverted, ConsumerId(2)});
  EXPECT_TRUE(FailsWith(other.Map(kind.store, Page(0), Frame(5), true), MemoryError::kOverlap));
  EXPECT_TRUE(FailsWith(other.Unmap(kind.store, Page(0)), MemoryError::kNotMapped));
  kind.table.Close(kind.store);
  EXPECT_TRUE(Succeeds(other.Map(kind.store, Page(0), Frame(5), true)));
}

}  // namespace
}  // namespace verbena::memory
