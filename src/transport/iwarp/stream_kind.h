#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verbena::transport {

// What a TCP connection carries (row B11).
enum class StreamKind : uint8_t {
  kUndecided,  // more bytes are needed
  kRdma,       // begins with an MPA request
  kIscsi,      // begins with an iSCSI login request
  kPlain,      // an ordinary stream of bytes
};

[[nodiscard]] const char* NameOf(StreamKind kind);

// Decides by the first bytes that arrived. No more than kDecisive are needed.
inline constexpr size_t kDecisiveBytes = 16;
[[nodiscard]] StreamKind KindOf(std::span<const std::byte> first);

}  // namespace verbena::transport
