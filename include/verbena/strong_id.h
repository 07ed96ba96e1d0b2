#pragma once

#include <compare>
#include <cstddef>
#include <functional>

namespace verbena {

// A number that identifies something. Each Tag makes a different type, so that one kind of number
// cannot be passed for another. There is no arithmetic, because the sum of two ids is no id.
//
//   using Color = StrongId<struct ColorTag, uint32_t>;
//
// A value type: copy it freely.
template <class Tag, class T>
class StrongId {
 public:
  using ValueType = T;

  constexpr StrongId() = default;
  explicit constexpr StrongId(T value) : value_(value) {}

  [[nodiscard]] constexpr T value() const { return value_; }

  friend constexpr bool operator==(StrongId, StrongId) = default;
  friend constexpr auto operator<=>(StrongId, StrongId) = default;

 private:
  T value_{};
};

}  // namespace verbena

template <class Tag, class T>
struct std::hash<verbena::StrongId<Tag, T>> {
  std::size_t operator()(verbena::StrongId<Tag, T> id) const noexcept {
    return std::hash<T>{}(id.value());
  }
};
