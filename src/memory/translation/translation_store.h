#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "base/interval_map.h"
#include "base/pool.h"
#include "memory/memory_error.h"
#include "memory/translation/reverse_map.h"
#include "memory/translation/translation_table.h"

namespace verbena::memory {

// Owns the translation tables of both stages. Only the store changes their entries, so that the
// reverse map always has all of them.
//
// One thread at a time.
class TranslationStore {
 public:
  explicit TranslationStore(uint64_t tables_max) : tables_(tables_max) {}

  // A table for `page_count` absent pages, with one user. A linear table describes contiguous
  // memory from `linear_base` on, which must be page-aligned.
  MemoryResult<TranslationTable*> Create(uint64_t page_count, PageShift page_shift,
                                         PhysicalSpace space,
                                         std::optional<PhysicalAddress> linear_base);

  // Regions that share translation entries (row B6) are users of one table; the last one frees it.
  void Share(TranslationTable& table) { ++table.users_; }
  void Release(TranslationTable* table);

  // Makes pages [first_page, first_page + count) present, contiguous from `where` on, and replaces
  // existing entries. A linear table accepts only its own addresses. Throws std::bad_alloc; a part
  // of the pages may be present then.
  MemoryResult<void> Map(TranslationTable& table, uint64_t first_page, uint64_t count,
                         PhysicalAddress where, bool writable);

  // The same for a linear table, which computes the addresses of its pages.
  MemoryResult<void> MapLinear(TranslationTable& table, uint64_t first_page, uint64_t count,
                               bool writable);

  // Makes pages [first_page, first_page + count) absent.
  MemoryResult<void> Unmap(TranslationTable& table, uint64_t first_page, uint64_t count);

  // Makes every entry of every table absent that refers to a page of the bytes [first, last] of
  // `space`. Returns how many were present.
  uint64_t Invalidate(PhysicalSpace space, PhysicalAddress first, PhysicalAddress last);

  // For bytes that may not be resident. Like Invalidate for linear tables, which can compute the
  // addresses of their pages. Entries of other tables become *away*: they keep the address that
  // their owner gave them.
  uint64_t MarkAbsent(PhysicalSpace space, PhysicalAddress first, PhysicalAddress last);
  // Makes pages present that are away. Fails with kWrongType if one of them is not away.
  MemoryResult<void> Restore(TranslationTable& table, uint64_t first_page, uint64_t count);

  // Whether an entry of a table may refer to a page of [first, last].
  bool IsNamed(PhysicalSpace space, PhysicalAddress first, PhysicalAddress last) const;

  // For machine memory that is paged in and evicted, and that the pager finds through linear tables
  // only: a page list must not contain [first, last] until AllowInLists. REQUIRES, for
  // ForbidInLists: no part of the range is forbidden. REQUIRES, for AllowInLists: the range was
  // forbidden as a whole.
  void ForbidInLists(PhysicalAddress first, PhysicalAddress last);
  void AllowInLists(PhysicalAddress first, PhysicalAddress last);
  // Whether a list may contain this page of `space`.
  bool MayList(PhysicalSpace space, PhysicalAddress page, PageShift page_shift) const;

  uint64_t table_count() const { return tables_.size(); }
  uint64_t reverse_record_count() const { return reverse_map_.record_count(); }
  uint64_t BytesOf(const TranslationTable& table) const {
    return sizeof(table) + table.AllocatedBytes();
  }
  uint64_t reverse_map_bytes() const { return reverse_map_.bytes(); }
  uint64_t table_object_bytes() const { return tables_.bytes(); }

  bool IsConsistent() const { return reverse_map_.IsConsistent(); }

 private:
  void NoteNewLeaf(TranslationTable& table, uint64_t leaf);
  void NoteLeaf(TranslationTable& table, uint64_t leaf, bool note);
  void NotePage(TranslationTable& table, uint64_t page, PageEntry entry, bool note);
  void SetPage(TranslationTable& table, void* leaf, uint64_t page, PageEntry entry);
  uint64_t MarkLinearAbsent(PhysicalSpace space, PhysicalAddress first, PhysicalAddress last);
  uint64_t InvalidateLeaf(TranslationTable& table, uint64_t number, uint64_t first, uint64_t last);

  Pool<TranslationTable> tables_;
  ReverseMap reverse_map_;
  IntervalMap<std::monostate> unlisted_;  // machine memory that page lists must not contain
};

}  // namespace verbena::memory
