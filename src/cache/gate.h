#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/interval_map.h"
#include "base/range_ring.h"
#include "cache/sync.h"
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
    word_ = new (page) SyncAtomic<uint64_t>(kOpen);
    wipes_ = madvise(page, kPageBytes, MADV_WIPEONFORK) == 0;
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
    if (ring_.Push({first, last})) return;
    if (has_overflown_.exchange(true)) word_->fetch_sub(1, std::memory_order_seq_cst);
  }

  // Calls fn(range) for each range, and opens the gate by as much. REQUIRES: the core's mutex.
  template <class Fn>
  void Apply(Fn fn) {
    if (has_overflown_.exchange(false)) {
      fn(Interval{0, ~uint64_t{0}});
      word_->fetch_sub(1, std::memory_order_seq_cst);
    }
    while (const auto range = ring_.Pop()) {
      fn(*range);
      word_->fetch_sub(1, std::memory_order_seq_cst);
    }
  }

 private:
  static constexpr uint64_t kOpen = uint64_t{1} << 32;
  static constexpr size_t kPageBytes = 4'096;

  SyncAtomic<uint64_t>* word_ = nullptr;
  bool wipes_ = false;
  SyncAtomic<bool> has_overflown_ = false;
  RangeRing<SyncAtomic, kRoom> ring_;
};

}  // namespace verbena::cache
