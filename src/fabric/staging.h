#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/check.h"

namespace verbena::fabric {

// Memory for the datagrams of one burst, allocated once and handed out from front to back.
//
// A burst does not begin where a long one before it did. The kernel copies by `rep movsb`, which on
// some processors is 16 times slower when the target is 1 to 15 bytes ahead of the source modulo
// 4096. It keeps what it copies in a row, too; so from the same place burst after burst would meet
// the same distance, and all be slow if it is an unlucky one. Of places that change every 256th is.
//
// Invariant: used() bytes from start_ on are handed out, without gaps. Its owner guards it.
class Staging {
 public:
  explicit Staging(size_t capacity)
      : capacity_(capacity),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(capacity + kPlaces)) {}

  // `size` is at most available().
  [[nodiscard]] std::span<std::byte> Take(size_t size) {
    CHECK(size <= available());
    const std::span<std::byte> taken(&bytes_[start_ + used_], size);
    used_ += size;
    return taken;
  }
  // Takes back what was handed out last.
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

  // By another distance each time: bursts are often of one size, with which a constant one could
  // cancel out.
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
