#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <variant>

#include "memory/access.h"
#include "memory/address.h"
#include "memory/memory_error.h"
#include "memory/spaces/inverted_page_table.h"
#include "memory/translation/translation_store.h"

namespace verbena::memory {

// Virtual page -> physical page of one consumer, kept in one of three ways (row A8):
//
//   private   the adapter's own tree, filled by MapLocalPage; not shared
//   shared    the owner's own table, read in place: the adapter sees the owner's changes without a
//             call
//   inverted  one table by physical frame for all consumers, filled by MapLocalPage
//
// A variant and not a virtual function, because this is on the data path.
// One thread at a time, but the owner of a shared table can store into it meanwhile.
class PageTable {
 public:
  struct Private {
    TranslationTable* table;
  };
  // Entry n is PageEntry::bits() of virtual page n.
  struct Shared {
    std::span<const std::atomic<uint64_t>> entries;
  };
  struct Inverted {
    InvertedPageTable* table;
    ConsumerId owner;
  };

  explicit PageTable(Private table) : table_(table) {}
  explicit PageTable(Shared table) : table_(table) {}
  explicit PageTable(Inverted table) : table_(table) {}

  static constexpr PageShift kPageShift{PageShift::kMin};

  PageEntry Find(VirtualAddress address) const;

  // The MapLocalPage verb, and its opposite. Addresses are on page borders. A shared table is
  // changed by its owner only.
  MemoryResult<void> Map(TranslationStore& store, VirtualAddress page, PhysicalAddress where,
                         bool writable);
  MemoryResult<void> Unmap(TranslationStore& store, VirtualAddress page);

  // Releases what the table holds for its consumer.
  void Close(TranslationStore& store);

 private:
  std::variant<Private, Shared, Inverted> table_;
};

}  // namespace verbena::memory
