#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>

#include "base/interval_map.h"

namespace verbena {

// A queue of ranges of fixed size. Nothing waits in it: a full one refuses.
//
// Push on any thread, without a lock; Pop and is_ready on one at a time. A thread that is preempted
// within Push holds up what was pushed after it, but no other Push.
//
// AtomicOf is std::atomic, or what a test puts in its place.
template <template <class> class AtomicOf, size_t kRoom>
class RangeRing {
 public:
  RangeRing() {
    for (size_t i = 0; i < kRoom; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }

  // False if it is full.
  [[nodiscard]] bool Push(Interval range) {
    size_t at = end_.load(std::memory_order_relaxed);
    while (true) {
      Cell& cell = cells_[at % kRoom];
      const size_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn == at) {
        if (!end_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        cell.range = range;
        cell.turn.store(at + 1, std::memory_order_release);
        return true;
      }
      if (turn < at) return false;
      at = end_.load(std::memory_order_relaxed);
    }
  }

  [[nodiscard]] std::optional<Interval> Pop() {
    if (!is_ready()) return std::nullopt;
    Cell& cell = cells_[begin_ % kRoom];
    const Interval range = cell.range;
    cell.turn.store(begin_ + kRoom, std::memory_order_release);
    ++begin_;
    return range;
  }
  [[nodiscard]] bool is_ready() const {
    return cells_[begin_ % kRoom].turn.load(std::memory_order_acquire) == begin_ + 1;
  }

 private:
  // `turn` says whose the cell is. At position p it is p for the writer of p, p + 1 for the reader
  // of p, and p + kRoom for the next round.
  struct Cell {
    AtomicOf<size_t> turn;
    Interval range;
  };

  std::array<Cell, kRoom> cells_;
  AtomicOf<size_t> end_ = 0;
  size_t begin_ = 0;
};

}  // namespace verbena
