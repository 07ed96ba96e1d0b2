#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace verbena {

// Converts between host order and big-endian, the order of the wire; its own inverse.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T BigEndian(T value) {
  if constexpr (sizeof(T) == 1 || std::endian::native == std::endian::big) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

// Reads big-endian fields at fixed offsets of a header of kSize bytes. From checks the size once;
// the compiler checks that each field lies inside the header, so a Load has no branch. Does not own
// the bytes.
template <std::size_t kSize>
class ByteReader {
 public:
  // nullopt when there are fewer than kSize bytes.
  [[nodiscard]] static constexpr std::optional<ByteReader> From(std::span<const std::byte> bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    return ByteReader(bytes);
  }

  template <std::size_t kOffset>
  [[nodiscard]] uint8_t Load8() const {
    return Load<uint8_t, kOffset>();
  }
  template <std::size_t kOffset>
  [[nodiscard]] uint16_t Load16() const {
    return Load<uint16_t, kOffset>();
  }
  template <std::size_t kOffset>
  [[nodiscard]] uint32_t Load24() const {
    return uint32_t{Load8<kOffset>()} << 16 | Load16<kOffset + 1>();
  }
  template <std::size_t kOffset>
  [[nodiscard]] uint32_t Load32() const {
    return Load<uint32_t, kOffset>();
  }
  template <std::size_t kOffset>
  [[nodiscard]] uint64_t Load48() const {
    return uint64_t{Load16<kOffset>()} << 32 | Load32<kOffset + 2>();
  }
  template <std::size_t kOffset>
  [[nodiscard]] uint64_t Load64() const {
    return Load<uint64_t, kOffset>();
  }

  // The bytes after the header.
  [[nodiscard]] constexpr std::span<const std::byte> rest() const { return bytes_.subspan(kSize); }

 private:
  explicit constexpr ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T, std::size_t kOffset>
  [[nodiscard]] T Load() const {
    static_assert(kOffset <= kSize && sizeof(T) <= kSize - kOffset, "field outside the header");
    T value;
    std::memcpy(&value, bytes_.data() + kOffset, sizeof(value));
    return BigEndian(value);
  }

  std::span<const std::byte> bytes_;
};

}  // namespace verbena
