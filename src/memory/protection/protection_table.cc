#include "memory/protection/protection_table.h"

#include <utility>

#include "base/check.h"
#include "base/rollback.h"
#include "base/when_memory.h"

namespace verbena::memory {

ProtectionTable::ProtectionTable(const MemoryOptions& options)
    : keys_(options.key_slots_max, options.key_quarantine, Random(options.seed)) {}

MemoryResult<ProtectionEntry*> ProtectionTable::FindLive(Key key, EntryType type) {
  const auto found = std::as_const(*this).FindLive(key, type);
  if (!found.has_value()) return Fail(found.error());
  return const_cast<ProtectionEntry*>(*found);
}

MemoryResult<const ProtectionEntry*> ProtectionTable::FindLive(Key key, EntryType type) const {
  const ProtectionEntry* entry = Find(key.index());
  if (entry == nullptr || !entry->is_live()) return Fail(MemoryError::kNoSuchKey);
  if (key.variant() != entry->local_variant && key.variant() != entry->remote_variant) {
    return Fail(MemoryError::kNoSuchKey);
  }
  if (entry->type != type) return Fail(MemoryError::kWrongType);
  return entry;
}

std::optional<SlotNumber> ProtectionTable::TakeSlot() {
  const std::optional<SlotNumber> slot = keys_.Take();
  Rollback taken([&] {
    if (slot.has_value()) keys_.Give(*slot);
  });
  while (chunks_.size() * kChunkEntries < keys_.slot_count()) {
    chunks_.push_back(std::make_unique<ProtectionEntry[]>(kChunkEntries));
  }
  taken.Keep();
  DCHECK(!slot.has_value() || EntryAt(*slot).state == EntryState::kFree);
  return slot;
}

void ProtectionTable::GiveSlot(SlotNumber slot) {
  ProtectionEntry& entry = EntryAt(slot);
  entry = ProtectionEntry();
  if (keys_.Give(slot) == KeyAllocator::SlotState::kRetired) entry.state = EntryState::kRetired;
}

std::optional<SlotNumber> ProtectionTable::Take(EntryType type, PdId pd, bool distinct_keys) {
  const std::optional<SlotNumber> slot = TakeSlot();
  if (!slot.has_value()) return std::nullopt;
  ProtectionEntry& entry = EntryAt(*slot);
  entry = ProtectionEntry();
  entry.type = type;
  entry.state = EntryState::kReserved;
  entry.pd = pd;
  if (type == EntryType::kWindow) {
    entry.window = {};
  } else if (type == EntryType::kTask) {
    entry.task = {};
  }
  RenewVariants(*slot, distinct_keys);
  return slot;
}

SlotNumber ProtectionTable::Renew(SlotNumber slot, bool distinct_keys) {
  if (keys_.IsSpent(slot)) {
    // If there is no memory for another slot, the entry keeps its slot, as at the limit.
    std::optional<SlotNumber> fresh;
    static_cast<void>(WhenMemory([&] { fresh = TakeSlot(); }));
    if (fresh) {
      EntryAt(*fresh) = EntryAt(slot);
      GiveSlot(slot);
      slot = *fresh;
    }
  }
  RenewVariants(slot, distinct_keys);
  return slot;
}

void ProtectionTable::RenewVariants(SlotNumber slot, bool distinct_keys) {
  ProtectionEntry& entry = EntryAt(slot);
  entry.local_variant = keys_.NextVariant(slot);
  entry.remote_variant = distinct_keys ? keys_.NextVariant(slot) : entry.local_variant;
  entry.was_valid = false;
}

void ProtectionTable::UseVariant(SlotNumber slot, KeyVariant variant) {
  ProtectionEntry& entry = EntryAt(slot);
  keys_.TakeOver(slot, variant);
  entry.local_variant = entry.remote_variant = variant;
  entry.was_valid = false;
}

void ProtectionTable::MakeReserved(SlotNumber slot) {
  ProtectionEntry& entry = EntryAt(slot);
  if (entry.type == EntryType::kWindow && entry.state == EntryState::kValid) {
    ProtectionEntry::Region& region = EntryAt(entry.window.region).region;
    CHECK(region.bound_windows > 0);
    --region.bound_windows;
    region.held_windows -= entry.held ? 1 : 0;
  }
  entry.state = EntryState::kReserved;
  entry.touched = entry.held = false;
}

void ProtectionTable::Hold(SlotNumber slot) {
  ProtectionEntry& entry = EntryAt(slot);
  CHECK(entry.state == EntryState::kValid && entry.use() == KeyUse::kOnce);
  entry.touched = entry.held = true;
  if (entry.type == EntryType::kWindow) ++EntryAt(entry.window.region).region.held_windows;
}

// Held windows are few and short-lived, so there is no list of them. They end only if no other
// window is bound: a call that is refused changes nothing.
bool ProtectionTable::HasWindows(SlotNumber region) {
  const ProtectionEntry::Region& counts = EntryAt(region).region;
  if (counts.bound_windows > counts.held_windows) return true;
  for (uint32_t i = 0; counts.held_windows > 0 && i < keys_.slot_count(); ++i) {
    const ProtectionEntry& entry = EntryAt(SlotNumber(i));
    const bool is_window = entry.type == EntryType::kWindow && entry.state == EntryState::kValid;
    if (is_window && entry.held && entry.window.region == region) MakeReserved(SlotNumber(i));
  }
  return counts.bound_windows > 0;
}

void ProtectionTable::Give(SlotNumber slot) {
  CHECK(EntryAt(slot).is_live());
  GiveSlot(slot);
}

void ProtectionTable::AdvanceTo(Time now) {
  keys_.AdvanceTo(now, [&](SlotNumber slot) { EntryAt(slot).state = EntryState::kFree; });
}

uint64_t ProtectionTable::bytes() const {
  return chunks_.size() * kChunkEntries * sizeof(ProtectionEntry) + keys_.bytes();
}

bool ProtectionTable::IsConsistent() const {
  uint32_t live = 0;
  uint32_t retired = 0;
  std::vector<uint32_t> windows(keys_.slot_count());
  for (uint32_t i = 0; i < keys_.slot_count(); ++i) {
    const ProtectionEntry& entry = EntryAt(SlotNumber(i));
    live += entry.is_live() ? 1 : 0;
    retired += entry.state == EntryState::kRetired ? 1 : 0;
    if (entry.type == EntryType::kWindow && entry.state == EntryState::kValid) {
      ++windows[entry.window.region.value()];
    }
    // Only regions are swapped out, and only one-touch entries are touched.
    if (entry.state == EntryState::kSwappedOut && entry.type != EntryType::kRegion) return false;
    if (entry.touched && !entry.one_touch) return false;
    if (entry.held && (!entry.touched || entry.state != EntryState::kValid)) return false;
  }
  for (uint32_t i = 0; i < keys_.slot_count(); ++i) {
    const ProtectionEntry& entry = EntryAt(SlotNumber(i));
    const bool is_region = entry.is_live() && entry.type == EntryType::kRegion;
    if (windows[i] != (is_region ? entry.region.bound_windows : 0)) return false;
  }
  return live == live_count() && retired == retired_count() && keys_.IsConsistent();
}

}  // namespace verbena::memory
