#include "managed/packer.h"

#include <lz4.h>

#include <algorithm>
#include <cstring>

#include <isa-l/crc.h>

namespace verbena::managed {
namespace {

const char* Chars(std::span<const std::byte> bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}

char* Chars(std::span<std::byte> bytes) { return reinterpret_cast<char*>(bytes.data()); }

}  // namespace

uint32_t Crc32c(std::span<const std::byte> bytes) {
  // The library only reads the bytes, although its parameter is not const.
  auto* const data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
  return crc32_iscsi(data, static_cast<int>(bytes.size()), ~uint32_t{0});
}

bool IsZero(std::span<const std::byte> bytes) {
  // The first byte is zero, and each byte equals the next.
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

bool Unpack(std::span<const std::byte> packed, std::span<std::byte> contents) {
  const auto size = static_cast<int>(contents.size());
  return LZ4_decompress_safe(Chars(packed), Chars(contents), static_cast<int>(packed.size()),
                             size) == size;
}

Packer::Packer() : state_(std::make_unique<std::byte[]>(static_cast<size_t>(LZ4_sizeofState()))) {}

Packer::~Packer() = default;

Packer::Packed Packer::Pack(std::span<const std::byte> contents, std::span<std::byte> room) {
  if (IsZero(contents)) return {StoredAs::kZero, 0};
  const Packed raw = {StoredAs::kRaw, static_cast<uint32_t>(contents.size())};
  if (room.empty()) return raw;
  if (to_skip_ > 0) {
    --to_skip_;
    return raw;
  }
  const uint32_t bytes = Compress(contents, room);
  failures_ = bytes > 0 ? 0 : std::min(failures_ + 1, kFailuresMax);
  to_skip_ = (uint32_t{1} << failures_) - 1;
  return bytes > 0 ? Packed{StoredAs::kCompressed, bytes} : raw;
}

// Returns 0 if the compressed bytes do not fit.
uint32_t Packer::Compress(std::span<const std::byte> contents, std::span<std::byte> room) {
  constexpr int kFastest = 1;
  return static_cast<uint32_t>(LZ4_compress_fast_extState(
      state_.get(), Chars(contents), Chars(room), static_cast<int>(contents.size()),
      static_cast<int>(room.size()), kFastest));
}

}  // namespace verbena::managed
