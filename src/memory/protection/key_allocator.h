#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "verbena/numbers.h"
#include "verbena/strong_id.h"

namespace verbena::memory {

// The position of an entry in the protection table. Slots are dense; the indices in keys are
// scattered over 24 bits.
using SlotNumber = StrongId<struct SlotNumberTag, uint32_t>;

// A secret permutation of the 24-bit numbers between slots and indices. It makes keys hard to guess
// without making the table sparse: otherwise a table of a thousand entries would either take a
// thousand pages, or have its keys within a range of a thousand. Not cryptographic: it defends
// against guessing and accidents, not against a peer that has seen many keys of this process.
class KeyScrambler {
 public:
  explicit KeyScrambler(Random& random);

  KeyIndex IndexOf(SlotNumber slot) const {
    return KeyIndex(Fold(slot.value() * multiply_first_ & kMask) * multiply_second_ & kMask);
  }
  SlotNumber SlotOf(KeyIndex index) const {
    return SlotNumber(Fold(index.value() * undo_second_ & kMask) * undo_first_ & kMask);
  }

 private:
  static constexpr uint32_t kMask = kKeyIndexCount - 1;

  // Its own inverse, because it does not change the upper half. High bits change low ones, which
  // multiplication never does.
  static uint32_t Fold(uint32_t x) { return x ^ x >> 12; }

  uint32_t multiply_first_, multiply_second_;
  uint32_t undo_first_, undo_second_;
};

// Allocates slots and the variants of their keys.
//
// Every slot goes through rounds of 256 variants. Within a round no variant is handed out twice. An
// owner that needs another variant when the round is spent moves to another slot. A slot whose
// round is spent is in quarantine after it is freed, and then starts a new round. So a key is never
// handed out again within the quarantine after its invalidation.
//
// Variants that an owner chooses itself (type 2 windows, registration by work request: IBA 10.6.3.3
// leaves the low byte of such keys to the consumer) count in the round, too. An owner that chooses
// all of them may repeat its own keys.
//
// Owned by the protection table; one thread at a time.
class KeyAllocator {
 public:
  KeyAllocator(uint32_t slots_max, Duration quarantine, Random random);

  // A random free slot, with the first variant of its new generation. nullopt if all are taken or
  // in quarantine.
  std::optional<SlotNumber> Take();

  // The next variant of a taken slot.
  KeyVariant NextVariant(SlotNumber slot);

  // True if the round has too few variants for another generation, which may need two: one for each
  // key.
  bool IsSpent(SlotNumber slot) const { return generations_[slot.value()].left < 2; }

  // Records that the owner of a taken slot chose `variant` itself.
  void TakeOver(SlotNumber slot, KeyVariant variant);

  enum class SlotState : uint8_t { kFree, kRetired };
  SlotState Give(SlotNumber slot);

  // Frees slots whose quarantine has ended, and calls `freed` for each.
  template <class Fn>
  void AdvanceTo(Time now, Fn freed) {
    now_ = now;
    while (!quarantined_.empty() && quarantined_.front().until <= now) {
      const SlotNumber slot = quarantined_.front().slot;
      quarantined_.pop_front();
      generations_[slot.value()].left = kVariantCount;
      free_.push_back(slot);
      freed(slot);
    }
  }

  KeyIndex IndexOf(SlotNumber slot) const { return scrambler_.IndexOf(slot); }
  SlotNumber SlotOf(KeyIndex index) const { return scrambler_.SlotOf(index); }

  // The number of slots that have been used.
  uint32_t slot_count() const { return slot_count_; }
  uint32_t taken_count() const { return taken_; }
  uint32_t quarantined_count() const { return static_cast<uint32_t>(quarantined_.size()); }
  uint64_t bytes() const;

  bool IsConsistent() const;

 private:
  static constexpr uint16_t kVariantCount = 256;
  // A slot is chosen among at least this many free ones, as long as the table can grow.
  static constexpr size_t kFreeMin = 64;
  static constexpr uint32_t kGrowth = 1024;

  struct Generation {
    uint8_t variant = 0;            // the last one handed out
    uint16_t left = kVariantCount;  // variants that are left in this round
  };
  struct Quarantined {
    SlotNumber slot;
    Time until;
  };

  void Grow();
  void Spend(Generation& generation, unsigned count);

  const uint32_t slots_max_;
  const Duration quarantine_;
  Random random_;
  KeyScrambler scrambler_;
  Time now_;
  uint32_t slot_count_ = 0;  // generations_.size(), for the data path
  std::vector<Generation> generations_;
  std::vector<SlotNumber> free_;
  std::deque<Quarantined> quarantined_;
  uint32_t unusable_ = 0;  // the slot whose index is 0, and slots without memory for their record
  uint32_t taken_ = 0;
};

}  // namespace verbena::memory
