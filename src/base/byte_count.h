#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace verbena {

// Parses a number of bytes: "4096", "64K", "64M", "1G", "2T". "iB" or "B" can follow the letter,
// and case does not matter. All units are powers of two. nullopt if the text has another form or
// the number does not fit.
[[nodiscard]] std::optional<uint64_t> ParseByteCount(std::string_view text);

}  // namespace verbena
