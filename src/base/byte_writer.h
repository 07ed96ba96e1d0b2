#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/byte_reader.h"
#include "base/check.h"

namespace verbena {

// Writes big-endian fields at fixed offsets of a header of kSize bytes; the twin of ByteReader.
// Bytes that no Store covers are unchanged. Does not own the bytes.
template <std::size_t kSize>
class ByteWriter {
 public:
  // REQUIRES: at least kSize bytes. The check folds away where the compiler knows the size of the
  // span.
  explicit constexpr ByteWriter(std::span<std::byte> bytes) : bytes_(bytes) {
    CHECK(bytes.size() >= kSize);
  }

  template <std::size_t kOffset>
  void Store8(uint8_t value) {
    Store<uint8_t, kOffset>(value);
  }
  template <std::size_t kOffset>
  void Store16(uint16_t value) {
    Store<uint16_t, kOffset>(value);
  }
  template <std::size_t kOffset>
  void Store24(uint32_t value) {
    CHECK(value >> 24 == 0);
    Store8<kOffset>(static_cast<uint8_t>(value >> 16));
    Store16<kOffset + 1>(static_cast<uint16_t>(value));
  }
  template <std::size_t kOffset>
  void Store32(uint32_t value) {
    Store<uint32_t, kOffset>(value);
  }
  template <std::size_t kOffset>
  void Store48(uint64_t value) {
    CHECK(value >> 48 == 0);
    Store16<kOffset>(static_cast<uint16_t>(value >> 32));
    Store32<kOffset + 2>(static_cast<uint32_t>(value));
  }
  template <std::size_t kOffset>
  void Store64(uint64_t value) {
    Store<uint64_t, kOffset>(value);
  }

  // The bytes after the header.
  [[nodiscard]] constexpr std::span<std::byte> rest() const { return bytes_.subspan(kSize); }

 private:
  template <class T, std::size_t kOffset>
  void Store(T value) {
    static_assert(kOffset <= kSize && sizeof(T) <= kSize - kOffset, "field outside the header");
    const T big_endian = BigEndian(value);
    std::memcpy(bytes_.data() + kOffset, &big_endian, sizeof(big_endian));
  }

  std::span<std::byte> bytes_;
};

}  // namespace verbena
