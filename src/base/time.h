#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <string>

#include "base/check.h"

namespace verbena {

// A span of time in nanoseconds, possibly negative. Arithmetic saturates: a timeout that was
// configured absurdly long stays absurdly long instead of turning negative. A value type.
class Duration {
 public:
  constexpr Duration() = default;
  explicit constexpr Duration(int64_t nanoseconds) : ns_(nanoseconds) {}

  // Longer than any other; used as "without end".
  [[nodiscard]] static constexpr Duration Max() { return Duration(kMaxNs); }

  [[nodiscard]] constexpr int64_t nanoseconds() const { return ns_; }

  friend constexpr auto operator<=>(Duration, Duration) = default;

  friend constexpr Duration operator+(Duration a, Duration b) {
    int64_t sum = 0;
    if (!__builtin_add_overflow(a.ns_, b.ns_, &sum)) return Duration(sum);
    return Limit(b.ns_ < 0);
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    int64_t difference = 0;
    if (!__builtin_sub_overflow(a.ns_, b.ns_, &difference)) return Duration(difference);
    return Limit(b.ns_ > 0);
  }
  friend constexpr Duration operator-(Duration a) { return Duration() - a; }
  friend constexpr Duration operator*(Duration a, int64_t factor) {
    int64_t product = 0;
    if (!__builtin_mul_overflow(a.ns_, factor, &product)) return Duration(product);
    return Limit((a.ns_ < 0) != (factor < 0));
  }
  friend constexpr Duration operator*(int64_t factor, Duration a) { return a * factor; }
  friend constexpr Duration operator/(Duration a, int64_t divisor) {
    CHECK(divisor != 0);
    if (divisor == -1) return -a;  // the one quotient that can overflow
    return Duration(a.ns_ / divisor);
  }
  constexpr Duration& operator+=(Duration other) { return *this = *this + other; }
  constexpr Duration& operator-=(Duration other) { return *this = *this - other; }

 private:
  static constexpr int64_t kMinNs = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMaxNs = std::numeric_limits<int64_t>::max();

  static constexpr Duration Limit(bool negative) { return Duration(negative ? kMinNs : kMaxNs); }

  int64_t ns_ = 0;
};

[[nodiscard]] constexpr Duration Nanoseconds(int64_t n) { return Duration(n); }
[[nodiscard]] constexpr Duration Microseconds(int64_t n) { return Duration(1'000) * n; }
[[nodiscard]] constexpr Duration Milliseconds(int64_t n) { return Duration(1'000'000) * n; }
[[nodiscard]] constexpr Duration Seconds(int64_t n) { return Duration(1'000'000'000) * n; }

// The API has spans of time of the standard library.
[[nodiscard]] constexpr Duration DurationOf(std::chrono::nanoseconds duration) {
  return Nanoseconds(duration.count());
}

// A moment, in nanoseconds since an origin that the clock chooses. Never() is later than all other
// times and stays Never when a duration is added, so a disabled deadline needs no flag beside it. A
// value type.
class Time {
 public:
  constexpr Time() = default;
  explicit constexpr Time(Duration since_origin) : since_origin_(since_origin) {}

  [[nodiscard]] static constexpr Time Never() { return Time(Duration::Max()); }

  [[nodiscard]] constexpr Duration since_origin() const { return since_origin_; }
  [[nodiscard]] constexpr int64_t nanoseconds() const { return since_origin_.nanoseconds(); }

  friend constexpr auto operator<=>(Time, Time) = default;

  friend constexpr Time operator+(Time t, Duration d) {
    if (t == Never() || d == Duration::Max()) return Never();
    return Time(t.since_origin_ + d);
  }
  friend constexpr Time operator-(Time t, Duration d) {
    if (t == Never()) return Never();
    return Time(t.since_origin_ - d);
  }
  // The duration from `b` to `a`: Duration::Max() if only `a` is Never.
  friend constexpr Duration operator-(Time a, Time b) {
    if (a == Never() && b != Never()) return Duration::Max();
    return a.since_origin_ - b.since_origin_;
  }
  constexpr Time& operator+=(Duration d) { return *this = *this + d; }
  constexpr Time& operator-=(Duration d) { return *this = *this - d; }

 private:
  Duration since_origin_;
};

// In the largest unit with a nonzero whole part, to three decimals, truncated: "1.5 ms".
[[nodiscard]] std::string ToString(Duration duration);

}  // namespace verbena
