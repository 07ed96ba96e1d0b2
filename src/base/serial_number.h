#pragma once

#include <cstdint>

#include "base/strong_id.h"

namespace verbena {

// A number that counts modulo 2^kBits, as protocols count on the wire (compare RFC 1982).
//
// There is no operator< on purpose. Serial order is not transitive: with three serials a third of
// the circle apart, each is before the next, all the way round. A sort or a std::map over it is
// undefined. Unwrap first, then sort. A value type.
template <class Tag, unsigned kBits>
class SerialNumber {
  static_assert(kBits >= 2 && kBits <= 32);

 public:
  static constexpr unsigned kBitCount = kBits;
  static constexpr uint32_t kMask = ~uint32_t{0} >> (32 - kBits);

  constexpr SerialNumber() = default;
  explicit constexpr SerialNumber(uint32_t value) : value_(value & kMask) {}

  [[nodiscard]] constexpr uint32_t value() const { return value_; }

  constexpr SerialNumber& operator++() { return *this = *this + 1; }
  constexpr SerialNumber operator++(int) {
    const SerialNumber before = *this;
    ++*this;
    return before;
  }
  friend constexpr SerialNumber operator+(SerialNumber a, uint32_t n) {
    return SerialNumber(a.value_ + n);
  }
  friend constexpr SerialNumber operator-(SerialNumber a, uint32_t n) {
    return SerialNumber(a.value_ - n);
  }
  friend constexpr bool operator==(SerialNumber, SerialNumber) = default;

  // The shortest way round the circle: positive when `to` lies ahead. Half a circle, the same in
  // both directions, counts as behind.
  [[nodiscard]] friend constexpr int32_t Distance(SerialNumber from, SerialNumber to) {
    constexpr unsigned kUnused = 32 - kBits;
    return static_cast<int32_t>((to.value_ - from.value_) << kUnused) >> kUnused;
  }

  // Two serials half a circle apart are in neither order.
  [[nodiscard]] friend constexpr bool IsBefore(SerialNumber a, SerialNumber b) {
    return Distance(a, b) > 0;
  }

 private:
  uint32_t value_ = 0;
};

// Turns arriving serials into 64-bit numbers that never wrap and can be sorted. Each serial is
// taken for the number nearest to the newest one seen, so it may come up to half a circle late or
// early. The numbers start one circle above zero, hence the late ones do not fall below it.
// A value type; its owner guards it.
template <class Serial>
class Unwrapper {
 public:
  using Unwrapped = StrongId<Unwrapper, uint64_t>;

  // `start` is the serial that the sequence starts with.
  explicit constexpr Unwrapper(Serial start)
      : newest_((uint64_t{1} << Serial::kBitCount) + start.value()) {}

  // The number of `serial`, which from now on counts as seen.
  constexpr Unwrapped Unwrap(Serial serial) {
    const Unwrapped unwrapped = Peek(serial);
    if (unwrapped > newest_) newest_ = unwrapped;
    return unwrapped;
  }

  // The same, without remembering it: for a serial that is not verified yet.
  [[nodiscard]] constexpr Unwrapped Peek(Serial serial) const {
    const int64_t distance = Distance(Wrap(newest_), serial);
    return Unwrapped(newest_.value() + static_cast<uint64_t>(distance));
  }

  [[nodiscard]] static constexpr Serial Wrap(Unwrapped unwrapped) {
    return Serial(static_cast<uint32_t>(unwrapped.value()));
  }

  [[nodiscard]] constexpr Unwrapped newest() const { return newest_; }

 private:
  Unwrapped newest_;
};

}  // namespace verbena
