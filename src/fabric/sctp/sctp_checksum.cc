#include "fabric/sctp/sctp_checksum.h"

#include <cstdint>

#include <isa-l/crc.h>

namespace verbena::fabric {
namespace {

constexpr size_t kAt = 8;

// Of a packet whose checksum field is zero. The field has the order of a little-endian word.
uint32_t ChecksumOf(std::span<std::byte> packet) {
  auto* const bytes = reinterpret_cast<unsigned char*>(packet.data());
  return ~crc32_iscsi(bytes, static_cast<int>(packet.size()), ~uint32_t{0});
}

void Store(std::span<std::byte> packet, uint32_t checksum) {
  for (size_t i = 0; i < sizeof checksum; ++i) {
    packet[kAt + i] = static_cast<std::byte>(checksum >> (8 * i));
  }
}

}  // namespace

void SealSctp(std::span<std::byte> packet) {
  Store(packet, 0);
  Store(packet, ChecksumOf(packet));
}

bool OpenSctp(std::span<std::byte> packet) {
  uint32_t stored = 0;
  for (size_t i = 0; i < sizeof stored; ++i) {
    stored |= std::to_integer<uint32_t>(packet[kAt + i]) << (8 * i);
  }
  Store(packet, 0);
  return ChecksumOf(packet) == stored;
}

}  // namespace verbena::fabric
