#pragma once

#include <cstdint>

#include "memory/protection/protection_entry.h"
#include "memory/protection/translation.h"
#include "memory/spaces/consumers.h"
#include "memory/spaces/guest_table.h"

namespace verbena::memory {

// Translates the bytes of a granted access page by page to machine memory, through one stage for
// the host and two for a guest. Used by the Translator only, after the checks.
//
// `result` is Ready without spans on entry. On return it is Ready with the bytes in order, the
// Fault that must be resolved first, or a Refusal that follows from the owner's segments.
class PageWalker {
 public:
  PageWalker(const ProtectionEntry& target, const GuestTable& guests, bool writes)
      : target_(target), guests_(guests), writes_(writes) {}

  // Bytes of a region or task with a translation table.
  void ThroughTable(uint64_t offset, uint64_t length, Translation& result) const;

  // Bytes of a swapped-out region with a translation table. All pages count as absent.
  Fault AllAbsent(uint64_t offset, uint64_t length) const;

  // Bytes of a region that is translated by its owner's segment and page tables.
  void ThroughAddressSpace(const Consumer& owner, uint64_t offset, uint64_t length,
                           Translation& result) const;

 private:
  static bool Append(MachineAddress machine, uint64_t length, Translation& result);
  void ThroughBothTables(uint64_t position, uint64_t length, Translation& result) const;
  [[nodiscard]] Fault FirstStageFault(uint64_t page, uint64_t last_page) const;
  bool AppendThroughGuest(GuestKey guest, PhysicalAddress physical, uint64_t length,
                          Translation& result) const;
  bool AppendVirtual(const PageTable& pages, VirtualAddress address, uint64_t length,
                     Translation& result) const;
  // The pages `first` to `last` of that stage.
  struct Pages {
    PageShift shift;
    uint64_t first;
    uint64_t last;
  };
  Fault MakeFault(Stage stage, GuestKey guest, const Pages& pages) const;

  const ProtectionEntry& target_;
  const GuestTable& guests_;
  const bool writes_;
};

}  // namespace verbena::memory
