#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace verbena {

// A number of bytes as people write it: "4096", "64K", "64M", "1G", "2T", each with "iB" or "B"
// behind it if they like, in small letters or capitals. All are powers of two. Nothing if it is
// something else, or too large.
[[nodiscard]] std::optional<uint64_t> ParseByteCount(std::string_view text);

}  // namespace verbena
