#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/check.h"

namespace verbena::fabric {

// Memory for the datagrams of one burst, allocated once and handed out from front to back.
//
// After a burst of more than 4 KiB the next one begins at another offset. The kernel copies by
// `rep movsb`, which on some processors is 16 times slower when the target is 1 to 15 bytes ahead
// of the source modulo 4096. The kernel's targets are consecutive, too. With a fixed start, all
// bursts would have the same distance to their targets, and all would be slow if that distance is
// an unlucky one. With a changing start, every 256th burst is.
//
// Invariant: used() bytes from start_ on are handed out, without gaps. One thread at a time.
class Staging {
 public:
  explicit Staging(size_t capacity)
      : capacity_(capacity),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(capacity + kPlaces)) {}

  // REQUIRES: size <= available().
  [[nodiscard]] std::span<std::byte> Take(size_t size) {
    CHECK(size <= available());
    const std::span<std::byte> taken(&bytes_[start_ + used_], size);
    used_ += size;
    return taken;
  }
  // Returns the bytes that were handed out last.
  void GiveBack(size_t size) {
    CHECK(size <= used_);
    used_ -= size;
  }
  void Clear() {
    if (used_ > kPlaces) Move();
    used_ = 0;
  }

  [[nodiscard]] size_t used() const { return used_; }
  [[nodiscard]] size_t available() const { return capacity_ - used_; }

 private:
  static constexpr size_t kPlaces = 4'096;
  static constexpr size_t kUnit = 16;

  // The distance differs from move to move: bursts often have one size, and a constant distance
  // could cancel out with it.
  void Move() {
    step_ = (step_ + kUnit) % kPlaces;
    start_ = (start_ + step_) % kPlaces;
  }

  const size_t capacity_;
  const std::unique_ptr<std::byte[]> bytes_;
  size_t start_ = 0;
  size_t step_ = 0;
  size_t used_ = 0;
};

}  // namespace verbena::fabric
