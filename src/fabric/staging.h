#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/check.h"

namespace verbena::fabric {

// Memory for the datagrams of one burst, allocated once and handed out from front to back.
//
// Invariant: the first used() bytes are handed out, without gaps. Its owner guards it.
class Staging {
 public:
  explicit Staging(size_t capacity)
      : capacity_(capacity), bytes_(std::make_unique_for_overwrite<std::byte[]>(capacity)) {}

  // `size` is at most available().
  [[nodiscard]] std::span<std::byte> Take(size_t size) {
    CHECK(size <= available());
    const std::span<std::byte> taken(&bytes_[used_], size);
    used_ += size;
    return taken;
  }
  // Takes back what was handed out last.
  void GiveBack(size_t size) {
    CHECK(size <= used_);
    used_ -= size;
  }
  void Clear() { used_ = 0; }

  [[nodiscard]] size_t used() const { return used_; }
  [[nodiscard]] size_t available() const { return capacity_ - used_; }

 private:
  const size_t capacity_;
  const std::unique_ptr<std::byte[]> bytes_;
  size_t used_ = 0;
};

}  // namespace verbena::fabric
