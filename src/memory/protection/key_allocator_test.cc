#include "memory/protection/key_allocator.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::memory {
namespace {

using SlotState = KeyAllocator::SlotState;

constexpr Duration kQuarantine = Seconds(60);

KeyAllocator Make(uint32_t slots_max, uint64_t seed = 1) {
  return KeyAllocator(slots_max, kQuarantine, Random(seed));
}

std::vector<SlotNumber> TakeAll(KeyAllocator& keys) {
  std::vector<SlotNumber> slots;
  while (const auto slot = keys.Take()) slots.push_back(*slot);
  return slots;
}

std::vector<SlotNumber> Freed(KeyAllocator& keys, Time now) {
  std::vector<SlotNumber> freed;
  keys.AdvanceTo(now, [&](SlotNumber slot) { freed.push_back(slot); });
  return freed;
}

// Slot 0 has index 0 and is never used, so of two slots one is usable.
constexpr uint32_t kOneUsable = 2;

TEST(KeyScramblerTest, IsABijectionOfAll24BitNumbers) {
  Random random(7);
  const KeyScrambler scrambler(random);
  std::vector<bool> seen(kKeyIndexCount);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kKeyIndexCount; ++i) {
    const KeyIndex index = scrambler.IndexOf(SlotNumber(i));
    if (index.value() >= kKeyIndexCount || seen[index.value()]) {
      ++wrong;
      continue;
    }
    seen[index.value()] = true;
    if (scrambler.SlotOf(index) != SlotNumber(i)) ++wrong;
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(KeyScramblerTest, ScattersNeighboursOverTheWholeRange) {
  Random random(7);
  const KeyScrambler scrambler(random);
  std::set<uint32_t> high_bytes, low_bytes;
  for (uint32_t i = 0; i < 1024; ++i) {
    const uint32_t index = scrambler.IndexOf(SlotNumber(i)).value();
    high_bytes.insert(index >> 16);
    low_bytes.insert(index & 0xff);
  }
  EXPECT_GT(high_bytes.size(), 200u);
  EXPECT_GT(low_bytes.size(), 200u);
}

TEST(KeyScramblerTest, DependsOnTheSeed) {
  Random one(1), two(2);
  EXPECT_NE(KeyScrambler(one).IndexOf(SlotNumber(1)), KeyScrambler(two).IndexOf(SlotNumber(1)));
}

TEST(KeyAllocatorTest, HandsOutEverySlotOnce) {
  KeyAllocator keys = Make(3000);
  const std::vector<SlotNumber> slots = TakeAll(keys);
  const std::set<SlotNumber> different(slots.begin(), slots.end());
  EXPECT_EQ(different.size(), slots.size());
  EXPECT_EQ(slots.size(), 2999u);  // all except index 0
  EXPECT_EQ(keys.taken_count(), 2999u);
  EXPECT_EQ(keys.Take(), std::nullopt);
  EXPECT_TRUE(keys.IsConsistent());
}

TEST(KeyAllocatorTest, NeverHandsOutIndexZero) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    KeyAllocator keys = Make(256, seed);
    for (const SlotNumber slot : TakeAll(keys)) EXPECT_NE(keys.IndexOf(slot), KeyIndex(0));
  }
}

TEST(KeyAllocatorTest, AFreedSlotCanBeTakenAgain) {
  KeyAllocator keys = Make(10);
  const std::vector<SlotNumber> slots = TakeAll(keys);
  keys.NextVariant(slots[4]);
  EXPECT_EQ(keys.Give(slots[4]), SlotState::kFree);
  EXPECT_EQ(keys.Take(), slots[4]);
  EXPECT_EQ(keys.Take(), std::nullopt);
  EXPECT_TRUE(keys.IsConsistent());
}

TEST(KeyAllocatorTest, HandsOutNothingWithoutSlots) {
  KeyAllocator none = Make(0);
  EXPECT_EQ(none.Take(), std::nullopt);
  KeyAllocator only_the_zero = Make(1);
  EXPECT_EQ(only_the_zero.Take(), std::nullopt);
  EXPECT_TRUE(only_the_zero.IsConsistent());
}

TEST(KeyAllocatorTest, ChoosesRandomlyAmongFreeSlots) {
  // With at least 63 free slots, the same slot is rarely chosen twice in a row.
  KeyAllocator keys = Make(4096);
  std::set<SlotNumber> chosen;
  for (int i = 0; i < 100; ++i) {
    const SlotNumber slot = *keys.Take();
    chosen.insert(slot);
    keys.NextVariant(slot);
    keys.Give(slot);
  }
  EXPECT_GT(chosen.size(), 80u);
  const std::vector<SlotNumber> slots = TakeAll(keys);
  EXPECT_FALSE(std::ranges::is_sorted(slots));
  EXPECT_FALSE(std::ranges::is_sorted(slots, std::greater<>()));
}

TEST(KeyAllocatorTest, TheSeedDeterminesAllKeys) {
  const auto history = [](uint64_t seed) {
    KeyAllocator keys = Make(512, seed);
    std::vector<uint32_t> values;
    for (int i = 0; i < 100; ++i) {
      const SlotNumber slot = *keys.Take();
      values.push_back(Key(keys.IndexOf(slot), keys.NextVariant(slot)).value());
      if (i % 3 == 0) keys.Give(slot);
    }
    return values;
  };
  EXPECT_EQ(history(5), history(5));
  EXPECT_NE(history(5), history(6));
}

// 255 generations of one variant each; one variant is too few for a generation with two keys, so
// the slot is quarantined then.
TEST(KeyAllocatorTest, NoVariantRepeatsWithinARound) {
  KeyAllocator keys = Make(kOneUsable);
  std::set<KeyVariant> seen;
  SlotState state = SlotState::kFree;
  while (state == SlotState::kFree) {
    const SlotNumber slot = *keys.Take();
    EXPECT_TRUE(seen.insert(keys.NextVariant(slot)).second);
    state = keys.Give(slot);
  }
  EXPECT_EQ(seen.size(), 255u);
  EXPECT_EQ(keys.quarantined_count(), 1u);
  EXPECT_EQ(keys.Take(), std::nullopt);
  EXPECT_TRUE(keys.IsConsistent());
}

void SpendLap(KeyAllocator& keys, SlotNumber slot) {
  for (int i = 0; i < 256; ++i) keys.NextVariant(slot);
}

TEST(KeyAllocatorTest, ARetiredSlotIsFreeAfterItsQuarantine) {
  KeyAllocator keys = Make(kOneUsable);
  EXPECT_TRUE(Freed(keys, Time(Seconds(5))).empty());
  const SlotNumber slot = *keys.Take();
  SpendLap(keys, slot);
  EXPECT_EQ(keys.Give(slot), SlotState::kRetired);
  EXPECT_TRUE(Freed(keys, Time(Seconds(65) - Nanoseconds(1))).empty());
  EXPECT_EQ(keys.Take(), std::nullopt);
  EXPECT_EQ(Freed(keys, Time(Seconds(65))), std::vector{slot});
  EXPECT_EQ(keys.quarantined_count(), 0u);
  EXPECT_EQ(keys.Take(), slot);
  keys.NextVariant(slot);
  EXPECT_EQ(keys.Give(slot), SlotState::kFree);  // a whole new round
  EXPECT_TRUE(keys.IsConsistent());
}

TEST(KeyAllocatorTest, EachSlotHasItsOwnQuarantine) {
  KeyAllocator keys = Make(3);
  const SlotNumber first = *keys.Take(), second = *keys.Take();
  SpendLap(keys, first);
  SpendLap(keys, second);
  keys.Give(first);
  EXPECT_TRUE(Freed(keys, Time(Seconds(10))).empty());
  keys.Give(second);
  EXPECT_EQ(Freed(keys, Time(Seconds(60))), std::vector{first});
  EXPECT_EQ(Freed(keys, Time(Seconds(69))), std::vector<SlotNumber>{});
  EXPECT_EQ(Freed(keys, Time(Seconds(70))), std::vector{second});
}

TEST(KeyAllocatorTest, AnOwnerMayUseMoreVariantsThanARound) {
  KeyAllocator keys = Make(kOneUsable);
  const SlotNumber slot = *keys.Take();
  KeyVariant previous = keys.NextVariant(slot);
  for (int i = 0; i < 600; ++i) {
    const KeyVariant next = keys.NextVariant(slot);
    EXPECT_NE(next, previous);
    previous = next;
  }
  EXPECT_EQ(keys.Give(slot), SlotState::kRetired);
}

SlotState StateAfterJump(uint8_t distance) {
  KeyAllocator keys = Make(kOneUsable);
  const SlotNumber slot = *keys.Take();
  const KeyVariant first = keys.NextVariant(slot);  // 255 left
  keys.TakeOver(slot, KeyVariant(static_cast<uint8_t>(first.value() + distance)));
  return keys.Give(slot);
}

TEST(KeyAllocatorTest, AChosenVariantSpendsTheSkippedOnes) {
  EXPECT_EQ(StateAfterJump(0), SlotState::kFree);
  EXPECT_EQ(StateAfterJump(1), SlotState::kFree);
  EXPECT_EQ(StateAfterJump(253), SlotState::kFree);     // two left
  EXPECT_EQ(StateAfterJump(254), SlotState::kRetired);  // one left
  EXPECT_EQ(StateAfterJump(255), SlotState::kRetired);  // one step back skips 254 variants
}

TEST(KeyAllocatorTest, VariantsContinueAfterAChosenOne) {
  KeyAllocator keys = Make(kOneUsable);
  const SlotNumber slot = *keys.Take();
  keys.TakeOver(slot, KeyVariant(255));
  EXPECT_EQ(keys.NextVariant(slot), KeyVariant(0));
}

TEST(KeyAllocatorTest, NoKeyIsReusedWithinTheQuarantine) {
  Random random(11);
  KeyAllocator keys = Make(9);
  Time now;
  std::map<Key, SlotNumber> held;
  std::map<Key, Time> given_up;
  int reborn = 0;
  for (int step = 0; step < 20000; ++step) {
    if (random.Chance(1, 2)) {
      if (const auto slot = keys.Take()) {
        const Key key(keys.IndexOf(*slot), keys.NextVariant(*slot));
        const auto before = given_up.find(key);
        if (before != given_up.end()) {
          ++reborn;
          ASSERT_GE(now - before->second, kQuarantine);
        }
        held[key] = *slot;
      }
    } else if (!held.empty()) {
      const auto it = std::next(held.begin(), static_cast<long>(random.Below(held.size())));
      keys.Give(it->second);
      given_up[it->first] = now;
      held.erase(it);
    }
    now += Milliseconds(static_cast<int64_t>(random.Below(200)));
    keys.AdvanceTo(now, [](SlotNumber) {});
    if (step % 500 == 0) {
      ASSERT_TRUE(keys.IsConsistent());
    }
  }
  EXPECT_GT(reborn, 100);  // the test reused keys at all
}

TEST(KeyAllocatorTest, ASmallTableStaysSmall) {
  KeyAllocator keys = Make(kKeyIndexCount);
  keys.Take();
  EXPECT_LT(keys.bytes(), 64u * 1024);
  EXPECT_LT(keys.slot_count(), 4096u);
}

}  // namespace
}  // namespace verbena::memory
