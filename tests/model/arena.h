#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "memory/copy/copier.h"

namespace verbena::memory::model {

// The machine memory of a run, and a shadow copy that the reference writes byte by byte.
class Arena {
 public:
  static constexpr uint64_t kBytes = 1 << 20;
  static constexpr uint64_t kAlignment = 1 << 16;  // the largest page size in use

  Arena() : room_(kBytes + kAlignment), shadow_(kBytes) {
    const auto at = reinterpret_cast<uintptr_t>(room_.data());
    base_ = (at + kAlignment - 1) / kAlignment * kAlignment;
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  uint64_t base() const { return base_; }
  bool Contains(uint64_t machine) const { return machine - base_ < kBytes; }
  std::byte& Shadow(uint64_t machine) { return shadow_[machine - base_]; }
  bool IsAsExpected() const {
    return std::memcmp(PointerTo(MachineAddress(base_)), shadow_.data(), kBytes) == 0;
  }

 private:
  std::vector<std::byte> room_;
  std::vector<std::byte> shadow_;
  uint64_t base_;
};

}  // namespace verbena::memory::model
