#include "memory/spaces/page_table.h"

namespace verbena::memory {
namespace {

constexpr uint64_t PageOf(VirtualAddress address) {
  return address.value() >> PageTable::kPageShift.value();
}

}  // namespace

PageEntry PageTable::Find(VirtualAddress address) const {
  const uint64_t page = PageOf(address);
  if (const auto* own = std::get_if<Private>(&table_)) {
    return page < own->table->page_count() ? own->table->Find(page) : PageEntry();
  }
  if (const auto* shared = std::get_if<Shared>(&table_)) {
    if (page >= shared->entries.size()) return PageEntry();
    // Acquire: the reader sees what the owner wrote into the page before it published the entry.
    return PageEntry::FromBits(shared->entries[page].load(std::memory_order_acquire));
  }
  const auto& inverted = std::get<Inverted>(table_);
  return inverted.table->Find(inverted.owner, page);
}

MemoryResult<void> PageTable::Map(TranslationStore& store, VirtualAddress page,
                                  PhysicalAddress where, bool writable) {
  if ((page.value() & kPageShift.mask()) != 0) return Fail(MemoryError::kMisaligned);
  if (const auto* own = std::get_if<Private>(&table_)) {
    return store.Map(*own->table, PageOf(page), 1, where, writable);
  }
  if (const auto* inverted = std::get_if<Inverted>(&table_)) {
    return inverted->table->Map(inverted->owner, PageOf(page), where, writable);
  }
  return Fail(MemoryError::kOwnedByTheSystem);
}

MemoryResult<void> PageTable::Unmap(TranslationStore& store, VirtualAddress page) {
  if ((page.value() & kPageShift.mask()) != 0) return Fail(MemoryError::kMisaligned);
  if (const auto* own = std::get_if<Private>(&table_)) {
    if (PageOf(page) >= own->table->page_count() || !own->table->Find(PageOf(page)).present()) {
      return Fail(MemoryError::kNotMapped);
    }
    return store.Unmap(*own->table, PageOf(page), 1);
  }
  if (const auto* inverted = std::get_if<Inverted>(&table_)) {
    return inverted->table->Unmap(inverted->owner, PageOf(page));
  }
  return Fail(MemoryError::kOwnedByTheSystem);
}

void PageTable::Close(TranslationStore& store) {
  if (const auto* own = std::get_if<Private>(&table_)) store.Release(own->table);
  if (const auto* inverted = std::get_if<Inverted>(&table_)) {
    inverted->table->RemoveOwner(inverted->owner);
  }
}

}  // namespace verbena::memory
