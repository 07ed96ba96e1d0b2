#include "memory/translation/translation_store.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "base/check.h"
#include "base/rollback.h"

namespace verbena::memory {
namespace {

bool InTable(const TranslationTable& table, uint64_t first_page, uint64_t count) {
  return first_page <= table.page_count() && count <= table.page_count() - first_page;
}

}  // namespace

MemoryResult<TranslationTable*> TranslationStore::Create(
    uint64_t page_count, PageShift page_shift, PhysicalSpace space,
    std::optional<PhysicalAddress> linear_base) {
  if (page_count == 0) return Fail(MemoryError::kOutOfRange);
  if (page_count > TranslationTable::kPagesMax) return Fail(MemoryError::kTooLarge);
  if (linear_base.has_value()) {
    if ((linear_base->value() & page_shift.mask()) != 0) return Fail(MemoryError::kMisaligned);
    // The last byte of the last page must exist.
    const uint64_t length_less_one = ((page_count - 1) << page_shift.value()) + page_shift.mask();
    if (linear_base->value() + length_less_one < linear_base->value()) {
      return Fail(MemoryError::kWraps);
    }
  }
  TranslationTable* table = tables_.New(page_count, page_shift, space, linear_base);
  if (table == nullptr) return Fail(MemoryError::kLimitReached);
  return table;
}

void TranslationStore::Release(TranslationTable* table) {
  CHECK(table->users_ > 0);
  if (--table->users_ > 0) return;
  table->ForEachLeaf(0, table->leaf_count() - 1, [&](uint64_t number, const void* leaf) {
    if (table->is_linear()) return NoteLeaf(*table, number, false);
    const uint64_t first_page = number << TranslationTable::kFanoutBits;
    for (uint64_t page = first_page; page < first_page + table->LeafSize(number); ++page) {
      NotePage(*table, page, table->Load(leaf, page), false);
    }
  });
  tables_.Delete(table);
}

MemoryResult<void> TranslationStore::Map(TranslationTable& table, uint64_t first_page,
                                         uint64_t count, PhysicalAddress where, bool writable) {
  const PageShift shift = table.page_shift();
  if (!InTable(table, first_page, count)) return Fail(MemoryError::kOutOfRange);
  if ((where.value() & shift.mask()) != 0) return Fail(MemoryError::kMisaligned);
  if (count == 0) return {};
  const uint64_t length_less_one = ((count - 1) << shift.value()) + shift.mask();
  if (where.value() + length_less_one < where.value()) return Fail(MemoryError::kWraps);
  if (table.is_linear() && table.LinearAddress(first_page) != where) {
    return Fail(MemoryError::kOutOfRange);
  }
  for (uint64_t page = first_page; page < first_page + count;) {
    const uint64_t number = page >> TranslationTable::kFanoutBits;
    const uint64_t leaf_first = number << TranslationTable::kFanoutBits;
    const uint64_t leaf_end = std::min(leaf_first + table.LeafSize(number), first_page + count);
    const auto [leaf, is_new] = table.MakeLeaf(number);
    if (is_new && table.is_linear()) NoteNewLeaf(table, number);
    for (; page < leaf_end; ++page) {
      const PhysicalAddress at(where.value() + ((page - first_page) << shift.value()));
      SetPage(table, leaf, page, PageEntry(at, writable));
    }
  }
  return {};
}

MemoryResult<void> TranslationStore::MapLinear(TranslationTable& table, uint64_t first_page,
                                               uint64_t count, bool writable) {
  if (!table.is_linear()) return Fail(MemoryError::kWrongType);
  if (!InTable(table, first_page, count)) return Fail(MemoryError::kOutOfRange);
  return Map(table, first_page, count, table.LinearAddress(first_page), writable);
}

MemoryResult<void> TranslationStore::Unmap(TranslationTable& table, uint64_t first_page,
                                           uint64_t count) {
  if (!InTable(table, first_page, count)) return Fail(MemoryError::kOutOfRange);
  if (count == 0) return {};
  const uint64_t last_page = first_page + count - 1;
  const auto leaf_of = [](uint64_t page) { return page >> TranslationTable::kFanoutBits; };
  table.ForEachLeaf(leaf_of(first_page), leaf_of(last_page), [&](uint64_t number, void* leaf) {
    const uint64_t leaf_first = number << TranslationTable::kFanoutBits;
    const uint64_t from = std::max(first_page, leaf_first);
    const uint64_t to = std::min(last_page, leaf_first + table.LeafSize(number) - 1);
    for (uint64_t page = from; page <= to; ++page) SetPage(table, leaf, page, PageEntry());
  });
  return {};
}

// Drops the leaf if the reverse map has no memory for it: every linear leaf must be in the map.
void TranslationStore::NoteNewLeaf(TranslationTable& table, uint64_t leaf) {
  Rollback made([&] { table.DropLeaf(leaf); });
  NoteLeaf(table, leaf, true);
  made.Keep();
}

// Allocates nothing, like Invalidate: pages are evicted when memory is short.
uint64_t TranslationStore::MarkLinearAbsent(PhysicalSpace space, PhysicalAddress first,
                                            PhysicalAddress last) {
  CHECK(first <= last);
  uint64_t gone = 0;
  // A linear leaf stays in the reverse map even if none of its pages is present.
  reverse_map_.ForEach(space, first.value(), last.value(), [&](const ReverseMap::Place& place) {
    if (!place.table->is_linear()) return;
    gone += InvalidateLeaf(*place.table, place.number, first.value(), last.value());
  });
  return gone;
}

uint64_t TranslationStore::MarkAbsent(PhysicalSpace space, PhysicalAddress first,
                                      PhysicalAddress last) {
  uint64_t gone = MarkLinearAbsent(space, first, last);
  // An absent page stays in the reverse map, under its address.
  reverse_map_.ForEach(space, first.value(), last.value(), [&](const ReverseMap::Place& place) {
    TranslationTable& table = *place.table;
    if (table.is_linear()) return;
    void* const leaf = table.FindLeaf(place.number >> TranslationTable::kFanoutBits);
    CHECK(leaf != nullptr);
    const PageEntry entry = table.Load(leaf, place.number);
    // A page at address 0 would look like one that was never mapped.
    if (!entry.present() || !entry.Away().is_named()) return;
    table.Store(leaf, place.number, entry.Away());
    ++gone;
  });
  return gone;
}

MemoryResult<void> TranslationStore::Restore(TranslationTable& table, uint64_t first_page,
                                             uint64_t count) {
  if (count == 0 || !InTable(table, first_page, count)) return Fail(MemoryError::kWrongType);
  for (uint64_t page = first_page; page < first_page + count; ++page) {
    const PageEntry entry = table.Find(page);
    if (!entry.is_named() || entry.present()) return Fail(MemoryError::kWrongType);
    table.Store(table.FindLeaf(page >> TranslationTable::kFanoutBits), page, entry.Back());
  }
  return {};
}

bool TranslationStore::IsNamed(PhysicalSpace space, PhysicalAddress first,
                               PhysicalAddress last) const {
  bool is_named = false;
  reverse_map_.ForEach(space, first.value(), last.value(),
                       [&](const ReverseMap::Place&) { is_named = true; });
  return is_named;
}

uint64_t TranslationStore::Invalidate(PhysicalSpace space, PhysicalAddress first,
                                      PhysicalAddress last) {
  uint64_t gone = MarkLinearAbsent(space, first, last);
  // Clearing an entry of another table changes the reverse map, so places are collected first, some
  // at a time.
  constexpr size_t kAtOnce = 64;
  std::array<ReverseMap::Place, kAtOnce> found;
  size_t count = 0;
  do {
    count = 0;
    reverse_map_.ForEach(space, first.value(), last.value(), [&](const ReverseMap::Place& place) {
      if (!place.table->is_linear() && count < kAtOnce) found[count++] = place;
    });
    for (const auto& [table, page] : std::span(found).first(count)) {
      void* leaf = table->FindLeaf(page >> TranslationTable::kFanoutBits);
      CHECK(leaf != nullptr);
      gone += table->Load(leaf, page).present() ? 1 : 0;
      SetPage(*table, leaf, page, PageEntry());
    }
  } while (count == kAtOnce);
  return gone;
}

// Clears the pages of one linear leaf that overlap [first, last].
uint64_t TranslationStore::InvalidateLeaf(TranslationTable& table, uint64_t number, uint64_t first,
                                          uint64_t last) {
  const unsigned shift = table.page_shift().value();
  const uint64_t first_page = number << TranslationTable::kFanoutBits;
  const uint64_t start = table.LinearAddress(first_page).value();
  if (last < start) return 0;
  const uint64_t from = first <= start ? 0 : (first - start) >> shift;
  const uint64_t to = std::min((last - start) >> shift, table.LeafSize(number) - 1);
  void* leaf = table.FindLeaf(number);
  CHECK(leaf != nullptr);
  uint64_t gone = 0;
  for (uint64_t page = first_page + from; page <= first_page + to; ++page) {
    gone += table.Load(leaf, page).present() ? 1 : 0;
    table.Store(leaf, page, PageEntry());
  }
  return gone;
}

void TranslationStore::SetPage(TranslationTable& table, void* leaf, uint64_t page,
                               PageEntry entry) {
  if (!table.is_linear()) {
    // The step that can run out of memory comes first.
    NotePage(table, page, entry, true);
    NotePage(table, page, table.Load(leaf, page), false);
  }
  table.Store(leaf, page, entry);
}

void TranslationStore::NotePage(TranslationTable& table, uint64_t page, PageEntry entry,
                                bool note) {
  if (!entry.is_named()) return;
  const uint64_t first = entry.address().value();
  const uint64_t last = first + table.page_shift().mask();
  const unsigned shift = table.page_shift().value();
  const ReverseMap::Place place{&table, page};
  if (note) {
    reverse_map_.Add(table.space(), first, last, shift, place);
  } else {
    reverse_map_.Remove(table.space(), first, last, shift, place);
  }
}

void TranslationStore::NoteLeaf(TranslationTable& table, uint64_t leaf, bool note) {
  const uint64_t size = table.LeafSize(leaf);
  const unsigned page_shift = table.page_shift().value();
  const uint64_t first = table.LinearAddress(leaf << TranslationTable::kFanoutBits).value();
  const uint64_t last = first + (size << page_shift) - 1;
  const unsigned block_shift = page_shift + static_cast<unsigned>(std::bit_width(size - 1));
  const ReverseMap::Place place{&table, leaf};
  if (note) {
    reverse_map_.Add(table.space(), first, last, block_shift, place);
  } else {
    reverse_map_.Remove(table.space(), first, last, block_shift, place);
  }
}

void TranslationStore::ForbidInLists(PhysicalAddress first, PhysicalAddress last) {
  CHECK(unlisted_.Insert({first.value(), last.value()}, {}));
}

void TranslationStore::AllowInLists(PhysicalAddress first, PhysicalAddress last) {
  const auto* const entry = unlisted_.Find(first.value());
  CHECK(entry != nullptr && entry->interval == (Interval{first.value(), last.value()}));
  unlisted_.Erase(entry->interval);
}

bool TranslationStore::MayList(PhysicalSpace space, PhysicalAddress page,
                               PageShift page_shift) const {
  if (space != kMachineSpace || unlisted_.empty()) return true;
  bool meets_any = false;
  unlisted_.ForEachOverlap({page.value(), page.value() | page_shift.mask()},
                           [&](const auto& /*entry*/) { meets_any = true; });
  return !meets_any;
}

}  // namespace verbena::memory
