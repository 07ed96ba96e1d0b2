#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "host/messages.h"

namespace verbena::host {

// One message is one packet of a Unix socket:
//
//   +----------------+--------+---------------------------------------+
//   | "VBRK"         | number | fields, big-endian, without padding    |
//   | 4 bytes        | 1 byte | text: a byte of length, then the bytes |
//   +----------------+--------+---------------------------------------+
//
// A file descriptor comes beside it, as SCM_RIGHTS (channel.h).
inline constexpr size_t kPacketMax = 1024;
inline constexpr size_t kTextMax = 255;
inline constexpr size_t kGuestNameMax = 31;

// Texts are cut to kTextMax bytes.
[[nodiscard]] std::vector<std::byte> ToPacket(const BrokerMessage& message);
// nullopt if the bytes are not exactly one message.
[[nodiscard]] std::optional<BrokerMessage> ParsePacket(std::span<const std::byte> bytes);

// Letters, digits, '.', '_' and '-'; 1 to kGuestNameMax of them. A name goes to the operator's
// terminal.
[[nodiscard]] bool IsGuestName(std::string_view name);

}  // namespace verbena::host
