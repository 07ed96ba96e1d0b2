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

// Key -> entry. Holds the entries and their keys, and leaves their meaning to Regions, Windows and
// Tasks. Entries keep their address for ever.
//
// One thread at a time.
class ProtectionTable {
 public:
  explicit ProtectionTable(const MemoryOptions& options);

  // The entry of a slot or index, whatever its state; null beyond the table. The first step of
  // every access.
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

  // The live entry of a type that `key` names in its present generation, by either of its variants:
  // what a call that manages the entry needs.
  MemoryResult<ProtectionEntry*> FindLive(Key key, EntryType type);
  MemoryResult<const ProtectionEntry*> FindLive(Key key, EntryType type) const;

  // A reserved entry with fresh variants: one for both keys, or one each. Nothing when full.
  std::optional<SlotNumber> Take(EntryType type, PdId pd, bool distinct_keys);

  // Whether windows are bound to the region. Held ones do not count, and end if there are no
  // others.
  bool HasWindows(SlotNumber region);

  // For the message that has just been granted access through the key.
  void Hold(SlotNumber slot);

  // The key grants nothing any more but stays reserved; a window lets go of its region.
  void MakeReserved(SlotNumber slot);

  // Back to free, or to retired. What the entry pointed at is the caller's to release.
  void Give(SlotNumber slot);

  // The next generation of a live entry that nothing points at: its present keys become stale.
  // Returns its slot, which is another one when the variants of the old one are spent; only in a
  // table without a free slot does it stay and meet old variants again.
  SlotNumber Renew(SlotNumber slot, bool distinct_keys);
  // The same with a variant that the owner chose for both keys, in the same slot.
  void UseVariant(SlotNumber slot, KeyVariant variant);

  SlotNumber SlotOf(Key key) const { return keys_.SlotOf(key.index()); }
  Key LocalKey(SlotNumber slot) const {
    return Key(keys_.IndexOf(slot), EntryAt(slot).local_variant);
  }
  Key RemoteKey(SlotNumber slot) const {
    return Key(keys_.IndexOf(slot), EntryAt(slot).remote_variant);
  }

  // Lets slots rest no longer than they must.
  void AdvanceTo(Time now);

  template <class Fn>
  void ForEachLive(Fn fn) const {
    for (uint32_t i = 0; i < keys_.slot_count(); ++i) {
      const ProtectionEntry& entry = EntryAt(SlotNumber(i));
      if (entry.is_live()) fn(SlotNumber(i), entry);
    }
  }

  uint32_t live_count() const { return keys_.taken_count(); }
  uint32_t retired_count() const { return keys_.resting_count(); }
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
