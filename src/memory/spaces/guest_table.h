#pragma once

#include <cstdint>
#include <optional>

#include "base/slot_table.h"
#include "memory/memory_error.h"
#include "memory/spaces/guest_key.h"
#include "memory/translation/translation_store.h"

namespace verbena::memory {

struct GuestSpec {
  uint64_t memory_bytes = 0;  // guest-physical addresses run from 0 to here
  uint32_t attributes = 0;    // for what resolves the guest's faults; uninterpreted here
  // Where the guest's memory is, if it can be in one piece of machine memory only: then an entry
  // costs a byte and not eight.
  std::optional<MachineAddress> base = {};
};

// The second stage (rows E6, E8): guest -> table of guest-physical pages -> machine addresses.
// Written for the host, never by the guest: the arenas of managed memory are the guests' memory
// here (odp/managed_pages.h). The host is no guest: its accesses skip this stage.
//
// One entry serves all regions of a guest, so a page comes and goes for all of them at once.
//
// One thread at a time.
class GuestTable {
 public:
  struct Guest {
    TranslationTable* pages;
    uint32_t attributes;
  };

  GuestTable(TranslationStore& store, uint32_t guests_max) : store_(store), guests_(guests_max) {}

  MemoryResult<GuestKey> Create(const GuestSpec& spec);
  // A guest can be destroyed at any time. From then on keys of its regions are refused, even when
  // another guest gets its number. Its regions and consumers are closed separately.
  MemoryResult<void> Destroy(GuestKey guest);

  const Guest* Find(GuestKey guest) const { return guests_.Find(guest); }
  static GuestNumber NumberOf(GuestKey guest) {
    return GuestNumber(guest == kHost ? 0 : (guest.value() & ((1u << kIndexBits) - 1)) + 1);
  }
  // The space of physical addresses that the guest's own tables point into.
  static PhysicalSpace SpaceOf(GuestKey guest) { return PhysicalSpace(guest.value()); }

  // Maps the guest-physical pages [from, from + count pages) to `to`.
  MemoryResult<void> Map(GuestKey guest, PhysicalAddress from, uint64_t count, MachineAddress to,
                         bool writable);
  MemoryResult<void> Unmap(GuestKey guest, PhysicalAddress from, uint64_t count);
  // The same as Map for a guest whose memory is in one piece. Pages that are writable stay so: of
  // two requests for a page, the one for reading may be answered last.
  MemoryResult<void> MapInPlace(GuestKey guest, PhysicalAddress from, uint64_t count,
                                bool writable);

  // Map and Unmap take whole pages. No first-stage page is smaller.
  static constexpr PageShift kPageShift{PageShift::kMin};

  uint64_t size() const { return guests_.size(); }
  bool IsConsistent() const { return guests_.IsConsistent(); }

 private:
  static constexpr unsigned kIndexBits = 12;

  struct Place {
    TranslationTable* table;
    uint64_t page;
  };
  MemoryResult<Place> PlaceOf(GuestKey guest, PhysicalAddress address);

  TranslationStore& store_;
  SlotTable<Guest, GuestKey, kIndexBits> guests_;
};

}  // namespace verbena::memory
