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

// A place in the protection table. Slots are dense, so that the table is; what the world sees is an
// index scattered over all of its 24 bits.
using SlotNumber = StrongId<struct SlotNumberTag, uint32_t>;

// A secret permutation of the 24-bit numbers between slots and indices. It makes keys hard to guess
// without making the table sparse: a table of a thousand entries would otherwise either be a
// thousand pages or have its keys within a thousand of each other. Not cryptography: it defends
// against guessing and against accidents, not against a peer that has seen many keys of this
// process.
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

  // Its own inverse, because the upper half is left alone. It lets high bits change low ones,
  // which multiplication never does.
  static uint32_t Fold(uint32_t x) { return x ^ x >> 12; }

  uint32_t multiply_first_, multiply_second_;
  uint32_t undo_first_, undo_second_;
};

// Hands out slots and the variants of their keys.
//
// Every slot goes through rounds of 256 variants. Within a round no variant is handed out twice; an
// owner that needs another variant when the round is spent moves to another slot, and a slot whose
// round is spent rests for the quarantine when it is given back, and then begins a new round. So a
// key value is never handed out again within the quarantine after it was given up.
//
// Instances that an owner chooses itself (type 2 windows, registration by work request: the low
// byte of such keys is the consumer's by IBA 10.6.3.3) spend the round as well; should an owner go
// round the whole round by itself, repeats among its own keys are its own choice.
//
// Owned by the protection table; one thread at a time.
class KeyAllocator {
 public:
  KeyAllocator(uint32_t slots_max, Duration quarantine, Random random);

  // A slot chosen at random among the free ones, with the first variant of its new generation.
  // Nothing when all are taken or resting.
  std::optional<SlotNumber> Take();

  // The next variant of a taken slot.
  KeyVariant NextVariant(SlotNumber slot);

  // True when the round has no room for another generation, which may need two variants: one for
  // each key.
  bool IsSpent(SlotNumber slot) const { return generations_[slot.value()].left < 2; }

  // The owner of a taken slot chose `variant` itself.
  void TakeOver(SlotNumber slot, KeyVariant variant);

  enum class Fate : uint8_t { kFree, kRetired };
  Fate Give(SlotNumber slot);

  // Ends the quarantine of slots whose time has come, and calls `freed` for each.
  template <class Fn>
  void AdvanceTo(Time now, Fn freed) {
    now_ = now;
    while (!resting_.empty() && resting_.front().until <= now) {
      const SlotNumber slot = resting_.front().slot;
      resting_.pop_front();
      generations_[slot.value()].left = kVariantCount;
      free_.push_back(slot);
      freed(slot);
    }
  }

  KeyIndex IndexOf(SlotNumber slot) const { return scrambler_.IndexOf(slot); }
  SlotNumber SlotOf(KeyIndex index) const { return scrambler_.SlotOf(index); }

  // Slots that exist so far; those beyond were never used.
  uint32_t slot_count() const { return slot_count_; }
  uint32_t taken_count() const { return taken_; }
  uint32_t resting_count() const { return static_cast<uint32_t>(resting_.size()); }
  uint64_t bytes() const;

  bool IsConsistent() const;

 private:
  static constexpr uint16_t kVariantCount = 256;
  // The choice is among at least this many as long as the table may grow.
  static constexpr size_t kFreeMin = 64;
  static constexpr uint32_t kGrowth = 1024;

  struct Generation {
    uint8_t variant = 0;            // the last one handed out
    uint16_t left = kVariantCount;  // variants of this round that were not
  };
  struct Resting {
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
  uint32_t slot_count_ = 0;  // generations_.size(), which every access needs
  std::vector<Generation> generations_;
  std::vector<SlotNumber> free_;
  std::deque<Resting> resting_;
  uint32_t unusable_ = 0;  // the one slot whose index is 0, once it exists; those that are lost
  uint32_t taken_ = 0;
};

}  // namespace verbena::memory
