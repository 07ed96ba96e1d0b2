#include "memory/protection/key_allocator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/when_memory.h"

namespace verbena::memory {
namespace {

// The multiplicative inverse of an odd number modulo 2^32, by Newton's iteration: each step doubles
// the number of correct bits, and `odd` itself is correct in the lowest three.
uint32_t InverseOf(uint32_t odd) {
  uint32_t inverse = odd;
  for (int i = 0; i < 4; ++i) inverse *= 2 - odd * inverse;
  CHECK(inverse * odd == 1);
  return inverse;
}

}  // namespace

KeyScrambler::KeyScrambler(Random& random)
    : multiply_first_(random.Next32() | 1),
      multiply_second_(random.Next32() | 1),
      undo_first_(InverseOf(multiply_first_)),
      undo_second_(InverseOf(multiply_second_)) {}

KeyAllocator::KeyAllocator(uint32_t slots_max, Duration quarantine, Random random)
    : slots_max_(slots_max), quarantine_(quarantine), random_(random), scrambler_(random_) {
  CHECK(slots_max <= kKeyIndexCount);
}

std::optional<SlotNumber> KeyAllocator::Take() {
  if (free_.size() < kFreeMin) Grow();
  if (free_.empty()) return std::nullopt;
  std::swap(free_[random_.Below(free_.size())], free_.back());
  const SlotNumber slot = free_.back();
  free_.pop_back();
  ++taken_;
  return slot;
}

void KeyAllocator::Grow() {
  const uint32_t before = slot_count();
  const uint32_t after = before + std::min(kGrowth, slots_max_ - before);
  generations_.reserve(after);
  free_.reserve(after);  // Give must not allocate
  for (uint32_t i = before; i < after; ++i) {
    const SlotNumber slot(i);
    generations_.push_back(
        {.variant = static_cast<uint8_t>(random_.Next32()), .left = kVariantCount});
    if (scrambler_.IndexOf(slot).value() == 0) {
      ++unusable_;  // Its keys could have the value 0, which means "no key" to programs.
    } else {
      free_.push_back(slot);
    }
  }
  slot_count_ = after;
}

void KeyAllocator::Spend(Generation& generation, unsigned count) {
  generation.left =
      static_cast<uint16_t>(generation.left - std::min<unsigned>(generation.left, count));
}

KeyVariant KeyAllocator::NextVariant(SlotNumber slot) {
  Generation& generation = generations_[slot.value()];
  ++generation.variant;
  Spend(generation, 1);
  return KeyVariant(generation.variant);
}

void KeyAllocator::TakeOver(SlotNumber slot, KeyVariant variant) {
  Generation& generation = generations_[slot.value()];
  // Skipped variants count as spent: only the position in the round is recorded, not which variants
  // were used.
  const auto distance = static_cast<uint8_t>(variant.value() - generation.variant);
  generation.variant = variant.value();
  Spend(generation, distance);
}

KeyAllocator::SlotState KeyAllocator::Give(SlotNumber slot) {
  CHECK(taken_ > 0 && slot.value() < slot_count());
  --taken_;
  if (!IsSpent(slot)) {
    free_.push_back(slot);
    return SlotState::kFree;
  }
  // If there is no memory for the record, the slot is never used again.
  if (!WhenMemory([&] { quarantined_.push_back({slot, now_ + quarantine_}); })) ++unusable_;
  return SlotState::kRetired;
}

uint64_t KeyAllocator::bytes() const {
  return generations_.capacity() * sizeof(Generation) + free_.capacity() * sizeof(SlotNumber) +
         quarantined_.size() * sizeof(Quarantined);
}

bool KeyAllocator::IsConsistent() const {
  if (free_.size() + quarantined_.size() + taken_ + unusable_ != generations_.size()) return false;
  std::vector<bool> seen(generations_.size());
  const auto once = [&](SlotNumber slot) {
    if (slot.value() >= seen.size() || seen[slot.value()]) return false;
    seen[slot.value()] = true;
    return true;
  };
  return std::ranges::all_of(free_, once) &&
         std::ranges::all_of(quarantined_, [&](const Quarantined& r) { return once(r.slot); }) &&
         std::ranges::is_sorted(quarantined_, {}, &Quarantined::until);
}

}  // namespace verbena::memory
