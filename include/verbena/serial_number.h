#pragma once

#include <cstdint>

namespace verbena {

// A number that counts modulo 2^kBits, as protocols count on the wire (compare RFC 1982).
//
// There is no operator< on purpose. Serial order is not transitive: with three serials a third of
// the circle apart, each is before the next, all the way round. A sort or a std::map over it is
// undefined. A value type.
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

}  // namespace verbena
