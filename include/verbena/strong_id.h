#pragma once

#include <compare>
#include <cstddef>
#include <functional>

namespace verbena {

// A number that names something. Each Tag makes a type of its own, so one kind of number cannot be
// passed where another is meant; there is no arithmetic, because the sum of two names is no name.
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
