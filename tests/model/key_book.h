#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "verbena/numbers.h"

namespace verbena::memory::model {

// What the reference knows about keys: which were handed out, when, and which may come next.
//
// It cannot predict the values, which are random, but checks every value against the guarantees of
// the key allocator: within a round of 256 variants none is handed out twice, an owner moves to
// another index when its round is used up, a used-up index is quarantined once it is given back,
// and 0 is no key. A violation becomes the complaint. Owned by the reference.
class KeyBook {
 public:
  KeyBook(uint32_t slots_max, Duration quarantine)
      // The index 0 is never used, and it takes one slot.
      : usable_(slots_max - 1), quarantine_(quarantine) {}

  bool is_full() const { return taken_ + resting_ == usable_; }

  void Take(KeyIndex index);
  void Give(KeyIndex index);
  // Is the round of a taken index spent, and is there another to move to?
  bool MustMove(KeyIndex index) { return indices_[index].left < 2 && !is_full(); }
  // A new variant of a taken index, chosen by the table or by the owner.
  void HandOut(Key key);
  void Choose(Key key);
  void AdvanceTo(Time now);

  // Every key that ever was, in order.
  const std::vector<Key>& history() const { return history_; }
  uint32_t taken() const { return taken_; }
  uint32_t resting() const { return resting_; }
  const std::string& complaint() const { return complaint_; }

 private:
  struct Index {
    bool taken = false;
    std::optional<Time> rests_until;
    std::bitset<256> used;  // in this round
    unsigned left = 256;
    uint8_t last = 0;
  };

  void Complain(const char* what, Key key);

  const uint32_t usable_;
  const Duration quarantine_;
  Time now_;
  std::map<KeyIndex, Index> indices_;
  std::vector<Key> history_;
  uint32_t taken_ = 0;
  uint32_t resting_ = 0;
  std::string complaint_;
};

}  // namespace verbena::memory::model
