#include "memory/spaces/guest_table.h"

namespace verbena::memory {

MemoryResult<GuestKey> GuestTable::Create(const GuestSpec& spec) {
  if ((spec.memory_bytes & kPageShift.mask()) != 0) return Fail(MemoryError::kMisaligned);
  std::optional<PhysicalAddress> base;
  if (spec.base) base = PhysicalAddress(spec.base->value());
  const auto pages =
      store_.Create(spec.memory_bytes >> kPageShift.value(), kPageShift, kMachineSpace, base);
  if (!pages.has_value()) return Fail(pages.error());
  const auto guest = guests_.Insert({*pages, spec.attributes});
  if (!guest.has_value()) {
    store_.Release(*pages);
    return Fail(MemoryError::kLimitReached);
  }
  return *guest;
}

MemoryResult<void> GuestTable::Destroy(GuestKey guest) {
  const Guest* found = guests_.Find(guest);
  if (found == nullptr) return Fail(MemoryError::kNoSuchGuest);
  store_.Release(found->pages);
  guests_.Erase(guest);
  return {};
}

MemoryResult<GuestTable::Place> GuestTable::PlaceOf(GuestKey guest, PhysicalAddress address) {
  const Guest* found = guests_.Find(guest);
  if (found == nullptr) return Fail(MemoryError::kNoSuchGuest);
  if ((address.value() & kPageShift.mask()) != 0) return Fail(MemoryError::kMisaligned);
  return Place{found->pages, address.value() >> kPageShift.value()};
}

MemoryResult<void> GuestTable::Map(GuestKey guest, PhysicalAddress from, uint64_t count,
                                   MachineAddress to, bool writable) {
  const auto place = PlaceOf(guest, from);
  if (!place.has_value()) return Fail(place.error());
  return store_.Map(*place->table, place->page, count, PhysicalAddress(to.value()), writable);
}

MemoryResult<void> GuestTable::MapInPlace(GuestKey guest, PhysicalAddress from, uint64_t count,
                                          bool writable) {
  const auto place = PlaceOf(guest, from);
  if (!place.has_value()) return Fail(place.error());
  const auto& [table, first] = *place;
  if (first > table->page_count() || count > table->page_count() - first) {
    return Fail(MemoryError::kOutOfRange);
  }
  if (writable || !table->is_linear()) return store_.MapLinear(*table, first, count, writable);
  for (uint64_t page = first; page < first + count; ++page) {
    if (table->Find(page).writable()) continue;
    const auto mapped = store_.MapLinear(*table, page, 1, false);
    if (!mapped.has_value()) return mapped;
  }
  return {};
}

MemoryResult<void> GuestTable::Unmap(GuestKey guest, PhysicalAddress from, uint64_t count) {
  const auto place = PlaceOf(guest, from);
  if (!place.has_value()) return Fail(place.error());
  return store_.Unmap(*place->table, place->page, count);
}

}  // namespace verbena::memory
