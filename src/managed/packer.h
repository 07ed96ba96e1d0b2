#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace verbena::managed {

// How the swap store holds the bytes of a granule.
enum class StoredAs : uint8_t {
  kNothing,     // not in the store
  kZero,        // all zero: there is nothing to keep
  kRaw,         // as they are
  kCompressed,  // by LZ4
};

// CRC-32C (Castagnoli), without the final inversion.
[[nodiscard]] uint32_t Crc32c(std::span<const std::byte> bytes);

[[nodiscard]] bool IsZero(std::span<const std::byte> bytes);

// False if `packed` does not decompress to exactly as many bytes as `contents` has.
[[nodiscard]] bool Unpack(std::span<const std::byte> packed, std::span<std::byte> contents);

// Compresses contents when that pays, that is, saves a quarter. Backs off when it does not: after
// the n-th failure in a row the next 2^n - 1 contents, 255 at most, are not tried. So data that do
// not compress cost little, and data that begin to compress are noticed.
//
// One thread at a time. Allocates nothing after construction.
class Packer {
 public:
  Packer();
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  struct Packed {
    StoredAs as;     // never kNothing
    uint32_t bytes;  // in `room` if compressed; 0 if zero
  };
  // `room` has three quarters of the size of `contents`; it is empty if `contents` must not be
  // compressed.
  [[nodiscard]] Packed Pack(std::span<const std::byte> contents, std::span<std::byte> room);

 private:
  static constexpr uint32_t kFailuresMax = 8;

  [[nodiscard]] uint32_t Compress(std::span<const std::byte> contents, std::span<std::byte> room);

  const std::unique_ptr<std::byte[]> state_;  // LZ4's table
  uint32_t failures_ = 0;                     // in a row
  uint32_t to_skip_ = 0;
};

}  // namespace verbena::managed
