#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "managed/cpu_view.h"

namespace verbena::managed {

// Faults on their way from signal handlers to the pager. Bounded; a fault that is posted twice is
// in the table once.
//
// Any number of threads post, also in signal handlers: no lock, no allocation. One thread takes.
class FaultTable {
 public:
  static constexpr size_t kCapacity = 128;

  // False when full.
  [[nodiscard]] bool Post(const CpuFault& fault) {
    const uint64_t word = WordOf(fault);
    for (std::atomic<uint64_t>& slot : slots_) {
      uint64_t there = slot.load(std::memory_order_acquire);
      if (there == kFree) {
        slot.compare_exchange_strong(there, word, std::memory_order_acq_rel);
        if (there == kFree) return true;
      }
      if (there == word) return true;
    }
    return false;
  }

  // Writes faults to the front of `faults` and returns how many.
  [[nodiscard]] size_t Take(std::span<CpuFault> faults) {
    size_t count = 0;
    for (std::atomic<uint64_t>& slot : slots_) {
      if (count == faults.size()) break;
      if (slot.load(std::memory_order_relaxed) == kFree) continue;
      faults[count++] = FaultOf(slot.exchange(kFree, std::memory_order_acq_rel));
    }
    return count;
  }

 private:
  static constexpr uint64_t kFree = 0;

  static uint64_t WordOf(const CpuFault& fault) {
    return uint64_t{fault.granule} << 2 | uint64_t{fault.is_write} << 1 | 1;
  }
  static CpuFault FaultOf(uint64_t word) {
    return {.granule = static_cast<uint32_t>(word >> 2), .is_write = (word & 2) != 0};
  }

  std::array<std::atomic<uint64_t>, kCapacity> slots_{};
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
};

}  // namespace verbena::managed
