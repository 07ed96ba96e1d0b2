#pragma once

#include <cstddef>
#include <span>

namespace verbena::fabric {

// The CRC-32C of SCTP packets (RFC 9260, 6.8). REQUIRES: a whole common header, of 12 bytes.

// Writes the checksum.
void SealSctp(std::span<std::byte> packet);
// Whether the checksum is right. Leaves zero in its place.
[[nodiscard]] bool OpenSctp(std::span<std::byte> packet);

}  // namespace verbena::fabric
