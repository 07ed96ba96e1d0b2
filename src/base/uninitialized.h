#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

namespace verbena {

// Storage for `kCount` values that is not initialized; the owner writes an element before reading
// it. The data path has arrays for the worst case and mostly uses one element.
template <class T, size_t kCount>
class Uninitialized {
  // Objects of such a type exist implicitly in an array of bytes (P0593).
  static_assert(std::is_trivially_copyable_v<T> && std::is_aggregate_v<T>);

 public:
  // Not defaulted: {} would set the bytes to 0.
  Uninitialized() {}  // NOLINT(modernize-use-equals-default)

  [[nodiscard]] T* data() { return reinterpret_cast<T*>(bytes_.data()); }
  [[nodiscard]] const T* data() const { return reinterpret_cast<const T*>(bytes_.data()); }
  [[nodiscard]] std::span<T> first(size_t count) { return {data(), count}; }

 private:
  alignas(T) std::array<std::byte, sizeof(T) * kCount> bytes_;
};

}  // namespace verbena
