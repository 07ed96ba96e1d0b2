#include "memory/protection/page_list.h"

#include <algorithm>

#include "base/check.h"

namespace verbena::memory {

bool CoversLength(const PageListBacking& list, uint64_t length) {
  const PageShift shift = list.page_shift;
  if (list.first_offset > shift.mask()) return false;
  if (length > 0 && list.first_offset + (length - 1) < length - 1) return false;
  if (list.pages.size() != PageCount(list.first_offset, length, shift)) return false;
  return std::ranges::all_of(
      list.pages, [&](PhysicalAddress page) { return (page.value() & shift.mask()) == 0; });
}

bool MayList(const TranslationStore& store, PhysicalSpace space, const PageListBacking& list) {
  return std::ranges::all_of(list.pages, [&](PhysicalAddress page) {
    return store.MayList(space, page, list.page_shift);
  });
}

void MapPageList(TranslationStore& store, TranslationTable& table, const PageListBacking& list) {
  const unsigned shift = list.page_shift.value();
  const size_t count = list.pages.size();
  for (size_t first = 0; first < count;) {
    // Contiguous pages are mapped as one run.
    size_t end = first + 1;
    while (end < count && list.pages[end] > list.pages[first] &&
           list.pages[end].value() ==
               list.pages[first].value() + (uint64_t{end - first} << shift)) {
      ++end;
    }
    const auto mapped = store.Map(table, first, end - first, list.pages[first], list.writable);
    CHECK(mapped.has_value());
    first = end;
  }
}

}  // namespace verbena::memory
