#pragma once

#include <string>

namespace verbena::cli {

// printf into a string.
[[gnu::format(printf, 1, 2)]] [[nodiscard]] std::string Text(const char* format, ...);

// In the largest unit with a nonzero whole part: "64 bytes", "1 MiB", "1.5 KiB".
[[nodiscard]] std::string BytesText(double bytes);

// "1.25 M", "310 k", "17".
[[nodiscard]] std::string CountText(double count);

}  // namespace verbena::cli
