#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

#include "base/interval_map.h"
#include "verbena/memory_events.h"

namespace verbena::cache {

// Ranges of memory that were given up and over which entries may still be live. While there are
// any, the gate is shut, and hits take the slow path.
//
// The word that a hit reads counts what is announced and not yet applied, and what is being read.
// It stands in a page that the kernel wipes in a child of a fork, where the gate is never open.
//
// Ranges go through a ring of fixed size. If it is full, all memory counts as given up. Any thread
// puts ranges in, among them the reader of the events: without a lock, and without a wait.
class Gate final : public MemoryListener {
 public:
  static constexpr size_t kRoom = 256;

  Gate() {
    void* const page =
        mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::bad_alloc();
    word_ = new (page) std::atomic<uint64_t>(kOpen);
    wipes_ = madvise(page, kPageBytes, MADV_WIPEONFORK) == 0;
    for (size_t i = 0; i < kRoom; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { munmap(word_, kPageBytes); }

  // Whether the kernel has MADV_WIPEONFORK, which is of Linux 4.14.
  [[nodiscard]] bool knows_forks() const { return wipes_; }

  [[nodiscard]] bool is_open() const { return word_->load(std::memory_order_seq_cst) == kOpen; }
  [[nodiscard]] bool is_child() const { return word_->load(std::memory_order_seq_cst) < kOpen; }

  void OnReading() override { word_->fetch_add(1, std::memory_order_seq_cst); }
  void OnRead() override { word_->fetch_sub(1, std::memory_order_seq_cst); }
  void OnGivenUp(uint64_t first, uint64_t last) override {
    word_->fetch_add(1, std::memory_order_seq_cst);
    if (Push({first, last})) return;
    if (has_overflown_.exchange(true)) word_->fetch_sub(1, std::memory_order_seq_cst);
  }

  // Calls fn(range) for each range, and opens the gate by as much. REQUIRES: the core's mutex.
  template <class Fn>
  void Apply(Fn fn) {
    if (has_overflown_.exchange(false)) {
      fn(Interval{0, ~uint64_t{0}});
      word_->fetch_sub(1, std::memory_order_seq_cst);
    }
    while (const auto range = Pop()) {
      fn(*range);
      word_->fetch_sub(1, std::memory_order_seq_cst);
    }
  }

 private:
  static constexpr uint64_t kOpen = uint64_t{1} << 32;
  static constexpr size_t kPageBytes = 4'096;

  // A bounded queue for many writers and one reader: `turn` says whose the cell is. At position p
  // it is p for the writer of p, p + 1 for the reader of p, and p + kRoom for the next round.
  struct Cell {
    std::atomic<size_t> turn;
    Interval range;
  };

  bool Push(Interval range) {
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
      if (turn < at) return false;  // full
      at = end_.load(std::memory_order_relaxed);
    }
  }
  std::optional<Interval> Pop() {
    Cell& cell = cells_[begin_ % kRoom];
    if (cell.turn.load(std::memory_order_acquire) != begin_ + 1) return std::nullopt;
    const Interval range = cell.range;
    cell.turn.store(begin_ + kRoom, std::memory_order_release);
    ++begin_;
    return range;
  }

  std::atomic<uint64_t>* word_ = nullptr;
  bool wipes_ = false;
  std::atomic<bool> has_overflown_ = false;
  std::array<Cell, kRoom> cells_;
  std::atomic<size_t> end_ = 0;
  size_t begin_ = 0;
};

}  // namespace verbena::cache
