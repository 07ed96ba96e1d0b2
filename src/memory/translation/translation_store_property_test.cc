// Compares the store with a simple model: an array of entries for each table.

#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "memory/translation/translation_store.h"

namespace verbena::memory {
namespace {

constexpr uint64_t kArena = uint64_t{1} << 24;  // all physical addresses, so that tables overlap

struct ModelTable {
  TranslationTable* table;
  unsigned shift;
  PhysicalSpace space;
  std::optional<uint64_t> base;  // linear
  uint32_t users = 1;
  std::vector<PageEntry> pages;
};

class StoreModel {
 public:
  explicit StoreModel(uint64_t seed) : random_(seed) {}

  void Step() {
    switch (random_.Below(tables_.size() < 12 ? 12 : 10)) {
      case 0:
        return Release();
      case 1:
        return Share();
      case 2:
      case 3:
        return Unmap();
      case 4:
      case 5:
        return Invalidate();
      case 10:
      case 11:
        return Create();
      default:
        return Map();
    }
  }

  void Verify() const {
    uint64_t records_max = 0;
    for (const ModelTable& model : tables_) {
      for (uint64_t page = 0; page < model.pages.size(); ++page) {
        ASSERT_EQ(model.table->Find(page), model.pages[page]) << "page " << page;
      }
      records_max += 2 * model.pages.size();
    }
    ASSERT_EQ(store_.table_count(), tables_.size());
    ASSERT_LE(store_.reverse_record_count(), records_max);
    ASSERT_TRUE(store_.IsConsistent());
  }

  uint64_t gone() const { return gone_; }

 private:
  ModelTable* Any() { return tables_.empty() ? nullptr : &tables_[random_.Below(tables_.size())]; }

  void Create() {
    static constexpr unsigned kShifts[] = {12, 12, 13, 16, 21};
    const unsigned shift = kShifts[random_.Below(std::size(kShifts))];
    const uint64_t room = kArena >> shift;
    const uint64_t count = random_.Between(1, std::min<uint64_t>(room, 1300));
    std::optional<uint64_t> base;
    if (random_.Chance(1, 2)) base = random_.Between(0, room - count) << shift;
    const PhysicalSpace space(static_cast<uint32_t>(random_.Below(2)));
    const auto made =
        store_.Create(count, PageShift(shift), space,
                      base.has_value() ? std::optional(PhysicalAddress(*base)) : std::nullopt);
    ASSERT_TRUE(made.has_value());
    tables_.push_back({*made, shift, space, base, 1, std::vector<PageEntry>(count)});
  }

  void Release() {
    if (tables_.empty()) return;
    const size_t i = random_.Below(tables_.size());
    store_.Release(tables_[i].table);
    if (--tables_[i].users == 0) tables_.erase(tables_.begin() + static_cast<long>(i));
  }

  void Share() {
    if (ModelTable* model = Any()) {
      store_.Share(*model->table);
      ++model->users;
    }
  }

  void Map() {
    ModelTable* model = Any();
    if (model == nullptr) return;
    const uint64_t first = random_.Below(model->pages.size());
    const uint64_t count = random_.Between(1, model->pages.size() - first);
    const bool writable = random_.Chance(1, 2);
    const uint64_t room = (kArena >> model->shift) - count;
    const uint64_t where = model->base.has_value() ? *model->base + (first << model->shift)
                                                   : random_.Between(0, room) << model->shift;
    const auto mapped =
        model->base.has_value() && random_.Chance(1, 2)
            ? store_.MapLinear(*model->table, first, count, writable)
            : store_.Map(*model->table, first, count, PhysicalAddress(where), writable);
    ASSERT_TRUE(mapped.has_value());
    for (uint64_t i = 0; i < count; ++i) {
      model->pages[first + i] = PageEntry(PhysicalAddress(where + (i << model->shift)), writable);
    }
  }

  void Unmap() {
    ModelTable* model = Any();
    if (model == nullptr) return;
    const uint64_t first = random_.Below(model->pages.size());
    const uint64_t count = random_.Between(0, model->pages.size() - first);
    ASSERT_TRUE(store_.Unmap(*model->table, first, count).has_value());
    for (uint64_t i = 0; i < count; ++i) model->pages[first + i] = PageEntry();
  }

  void Invalidate() {
    const PhysicalSpace space(static_cast<uint32_t>(random_.Below(2)));
    const uint64_t first = random_.Below(kArena);
    const uint64_t length_max = random_.Chance(1, 8) ? kArena - first : 0x8000;
    const uint64_t last = first + random_.Below(length_max);
    uint64_t expected = 0;
    for (ModelTable& model : tables_) {
      if (model.space != space) continue;
      for (PageEntry& entry : model.pages) {
        const uint64_t start = entry.address().value();
        const uint64_t end = start + (uint64_t{1} << model.shift) - 1;
        if (!entry.present() || end < first || start > last) continue;
        entry = PageEntry();
        ++expected;
      }
    }
    ASSERT_EQ(store_.Invalidate(space, PhysicalAddress(first), PhysicalAddress(last)), expected);
    gone_ += expected;
  }

  Random random_;
  TranslationStore store_{100};
  std::vector<ModelTable> tables_;
  uint64_t gone_ = 0;
};

class TranslationStorePropertyTest : public testing::TestWithParam<uint64_t> {};

TEST_P(TranslationStorePropertyTest, AgreesWithTheModelAfterEveryHistory) {
  StoreModel model(GetParam());
  for (int step = 0; step < 600; ++step) {
    ASSERT_NO_FATAL_FAILURE(model.Step()) << "step " << step;
    if (step % 20 == 0) {
      ASSERT_NO_FATAL_FAILURE(model.Verify()) << "step " << step;
    }
  }
  ASSERT_NO_FATAL_FAILURE(model.Verify());
  EXPECT_GT(model.gone(), 100u);  // the invalidations reached present pages
}

INSTANTIATE_TEST_SUITE_P(Seeds, TranslationStorePropertyTest, testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace verbena::memory
