#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"

namespace verbena::rsockets {

// A part of a buffer.
struct BufferPart {
  uint32_t offset = 0;
  uint32_t length = 0;

  friend bool operator==(const BufferPart&, const BufferPart&) = default;
};

// A part of a circular buffer: two pieces if it wraps; otherwise `second` is empty.
struct RingPart {
  BufferPart first{};
  BufferPart second{};

  [[nodiscard]] uint32_t length() const { return first.length + second.length; }

  friend bool operator==(const RingPart&, const RingPart&) = default;
};

// Which bytes of a circular buffer are in use: taken at one end and released at the other, in
// order. Does not contain the bytes. One thread at a time.
class ByteRing {
 public:
  explicit ByteRing(uint32_t size) : size_(size) { CHECK(size > 0); }

  [[nodiscard]] uint32_t size() const { return size_; }
  [[nodiscard]] uint32_t used() const { return used_; }
  [[nodiscard]] uint32_t free() const { return size_ - used_; }

  // REQUIRES: length <= free().
  [[nodiscard]] RingPart Take(uint32_t length) {
    CHECK(length <= free());
    const RingPart part = At(used_, length);
    used_ += length;
    return part;
  }

  // The oldest bytes in use. REQUIRES: length <= used().
  [[nodiscard]] RingPart Front(uint32_t length) const {
    CHECK(length <= used_);
    return At(0, length);
  }
  // REQUIRES: length <= used().
  void Release(uint32_t length) {
    CHECK(length <= used_);
    begin_ = Wrapped(uint64_t{begin_} + length);
    used_ -= length;
  }

 private:
  [[nodiscard]] uint32_t Wrapped(uint64_t position) const {
    return static_cast<uint32_t>(position % size_);
  }
  [[nodiscard]] RingPart At(uint32_t distance, uint32_t length) const {
    const uint32_t offset = Wrapped(uint64_t{begin_} + distance);
    const uint32_t first = std::min(length, size_ - offset);
    return {.first = {.offset = offset, .length = first},
            .second = {.offset = 0, .length = length - first}};
  }

  const uint32_t size_;
  uint32_t begin_ = 0;  // of the bytes in use
  uint32_t used_ = 0;
};

}  // namespace verbena::rsockets
