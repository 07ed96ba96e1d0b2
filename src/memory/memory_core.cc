#include "memory/memory_core.h"

#include <algorithm>

namespace verbena::memory {

MemoryCore::MemoryCore(const MemoryOptions& options)
    : translations(options.translation_tables_max),
      guests(translations, options.guests_max),
      consumers(translations, options.consumers_max),
      domains(consumers, options.domains_max),
      table(options),
      translator(table, domains, guests, options.remote_through_regions),
      regions(table, domains, guests, translations),
      windows(table, domains, translator),
      tasks(table, domains, translations),
      one_touch(table) {}

Result<void, Refusal> MemoryCore::Invalidate(Key key, Origin origin, const Accessor& who) {
  const ProtectionEntry* entry = table.Find(key.index());
  if (entry != nullptr && entry->is_live() && entry->type == EntryType::kWindow) {
    return windows.Invalidate(key, who);
  }
  return regions.Invalidate(key, origin, who);
}

uint64_t MemoryCore::InvalidateMachine(MachineAddress first, MachineAddress last) {
  const PhysicalAddress from(first.value());
  const PhysicalAddress to(last.value());
  uint64_t gone = translations.Invalidate(kMachineSpace, from, to);
  for (InvertedPageTable& inverted : inverted_tables_) gone += inverted.Invalidate(from, to);
  return gone;
}

void MemoryCore::ForbidInLists(MachineAddress first, MachineAddress last) {
  InvalidateMachine(first, last);
  translations.ForbidInLists(PhysicalAddress(first.value()), PhysicalAddress(last.value()));
}

void MemoryCore::AllowInLists(MachineAddress first, MachineAddress last) {
  translations.AllowInLists(PhysicalAddress(first.value()), PhysicalAddress(last.value()));
}

uint64_t MemoryCore::MarkMachineAbsent(MachineAddress first, MachineAddress last) {
  return translations.MarkAbsent(kMachineSpace, PhysicalAddress(first.value()),
                                 PhysicalAddress(last.value()));
}

bool MemoryCore::IsNamed(MachineAddress first, MachineAddress last) const {
  return translations.IsNamed(kMachineSpace, PhysicalAddress(first.value()),
                              PhysicalAddress(last.value()));
}

uint64_t MemoryCore::InvalidateGuestPhysical(GuestKey guest, PhysicalAddress first,
                                             PhysicalAddress last) {
  return translations.Invalidate(GuestTable::SpaceOf(guest), first, last);
}

InvertedPageTable& MemoryCore::MakeInvertedPageTable(PhysicalAddress base, uint32_t frame_count) {
  return inverted_tables_.emplace_back(base, frame_count);
}

bool MemoryCore::IsConsistent() const {
  return translations.IsConsistent() && guests.IsConsistent() && consumers.IsConsistent() &&
         domains.IsConsistent() && table.IsConsistent() &&
         std::ranges::all_of(inverted_tables_, &InvertedPageTable::IsConsistent);
}

}  // namespace verbena::memory
