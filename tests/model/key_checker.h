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

// Checks the keys that the core issues.
//
// The values are random and cannot be predicted, but every value is checked against the guarantees
// of the key allocator: within a round of 256 variants none is issued twice, an owner moves to
// another index when its round is spent, a spent index is quarantined after it is freed,
// and 0 is no key. `error` describes the first violation. Owned by the reference.
class KeyChecker {
 public:
  KeyChecker(uint32_t slots_max, Duration quarantine)
      // The index 0 is never used, and it takes one slot.
      : usable_(slots_max - 1), quarantine_(quarantine) {}

  bool is_full() const { return taken_ + quarantined_ == usable_; }

  void Take(KeyIndex index);
  void Give(KeyIndex index);
  // Whether the round of a taken index is spent and there is another index to move to.
  bool MustMove(KeyIndex index) { return indices_[index].left < 2 && !is_full(); }
  // A new variant of a taken index, chosen by the table (HandOut) or by the owner (Choose).
  void HandOut(Key key);
  void Choose(Key key);
  void AdvanceTo(Time now);

  // All issued keys, in order.
  const std::vector<Key>& history() const { return history_; }
  uint32_t taken() const { return taken_; }
  uint32_t quarantined() const { return quarantined_; }
  const std::string& error() const { return error_; }

 private:
  struct Index {
    bool taken = false;
    std::optional<Time> quarantined_until;
    std::bitset<256> used;  // in this round
    unsigned left = 256;
    uint8_t last = 0;
  };

  void Fail(const char* what, Key key);

  const uint32_t usable_;
  const Duration quarantine_;
  Time now_;
  std::map<KeyIndex, Index> indices_;
  std::vector<Key> history_;
  uint32_t taken_ = 0;
  uint32_t quarantined_ = 0;
  std::string error_;
};

}  // namespace verbena::memory::model
