#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "memory/memory_error.h"
#include "memory/options.h"
#include "memory/protection/key_allocator.h"
#include "memory/protection/protection_entry.h"

namespace verbena::memory {

// Maps keys to entries. Owns the entries and their keys; Regions, Windows and Tasks define their
// meaning. Entries never move.
//
// One thread at a time.
class ProtectionTable {
 public:
  explicit ProtectionTable(const MemoryOptions& options);

  // The entry of a slot or index, in any state; null beyond the table. The first step of every
  // access.
  ProtectionEntry* Find(SlotNumber slot) {
    return slot.value() < keys_.slot_count() ? &EntryAt(slot) : nullptr;
  }
  const ProtectionEntry* Find(SlotNumber slot) const {
    return const_cast<ProtectionTable*>(this)->Find(slot);
  }
  ProtectionEntry* Find(KeyIndex index) { return Find(keys_.SlotOf(index)); }
  const ProtectionEntry* Find(KeyIndex index) const { return Find(keys_.SlotOf(index)); }
  ProtectionEntry& EntryAt(SlotNumber slot) {
    return chunks_[slot.value() / kChunkEntries][slot.value() % kChunkEntries];
  }
  const ProtectionEntry& EntryAt(SlotNumber slot) const {
    return const_cast<ProtectionTable*>(this)->EntryAt(slot);
  }

  // The live entry of this type and of the current generation that `key` refers to, by either of
  // its variants. For calls that manage the entry.
  MemoryResult<ProtectionEntry*> FindLive(Key key, EntryType type);
  MemoryResult<const ProtectionEntry*> FindLive(Key key, EntryType type) const;

  // A reserved entry with new variants: one for both keys, or one each. nullopt if the table is
  // full.
  std::optional<SlotNumber> Take(EntryType type, PdId pd, bool distinct_keys);

  // Whether windows are bound to the region. Held ones do not count, and end if there are no
  // others.
  bool HasWindows(SlotNumber region);

  // Holds the key for the message that has just been granted access through it.
  void Hold(SlotNumber slot);

  // Makes the key invalid but keeps it reserved; unbinds a window from its region.
  void MakeReserved(SlotNumber slot);

  // Frees or retires the entry. The caller releases the objects that it refers to.
  void Give(SlotNumber slot);

  // Starts the next generation of a live entry without references: its current keys become stale.
  // Returns its slot, which is another one if the variants of the old one are spent; only in a
  // table without a free slot it keeps the old slot and repeats variants.
  SlotNumber Renew(SlotNumber slot, bool distinct_keys);
  // The same with a variant that the owner has chosen for both keys, in the same slot.
  void UseVariant(SlotNumber slot, KeyVariant variant);

  SlotNumber SlotOf(Key key) const { return keys_.SlotOf(key.index()); }
  Key LocalKey(SlotNumber slot) const {
    return Key(keys_.IndexOf(slot), EntryAt(slot).local_variant);
  }
  Key RemoteKey(SlotNumber slot) const {
    return Key(keys_.IndexOf(slot), EntryAt(slot).remote_variant);
  }

  // Frees slots whose quarantine has ended.
  void AdvanceTo(Time now);

  template <class Fn>
  void ForEachLive(Fn fn) const {
    for (uint32_t i = 0; i < keys_.slot_count(); ++i) {
      const ProtectionEntry& entry = EntryAt(SlotNumber(i));
      if (entry.is_live()) fn(SlotNumber(i), entry);
    }
  }

  uint32_t live_count() const { return keys_.taken_count(); }
  uint32_t retired_count() const { return keys_.quarantined_count(); }
  uint64_t bytes() const;

  bool IsConsistent() const;

 private:
  static constexpr uint32_t kChunkEntries = 1024;

  std::optional<SlotNumber> TakeSlot();
  void GiveSlot(SlotNumber slot);
  void RenewVariants(SlotNumber slot, bool distinct_keys);

  KeyAllocator keys_;
  std::vector<std::unique_ptr<ProtectionEntry[]>> chunks_;
};

}  // namespace verbena::memory
