#include "base/byte_count.h"

#include <cctype>
#include <charconv>
#include <string>

namespace verbena {
namespace {

// The power of two that the unit stands for: 10 for K, 20 for M. nullopt if the unit is unknown.
std::optional<unsigned> ShiftOf(std::string_view unit) {
  std::string small;
  for (const char letter : unit) {
    small.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(letter))));
  }
  if (small.empty() || small == "b") return 0;
  constexpr std::string_view kUnits = "kmgt";
  const size_t index = kUnits.find(small[0]);
  const std::string_view rest = std::string_view(small).substr(1);
  if (index == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) {
    return std::nullopt;
  }
  return static_cast<unsigned>(10 * (index + 1));
}

}  // namespace

std::optional<uint64_t> ParseByteCount(std::string_view text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc()) return std::nullopt;
  const auto shift = ShiftOf(text.substr(static_cast<size_t>(end - text.data())));
  if (!shift || count > UINT64_MAX >> *shift) return std::nullopt;
  return count << *shift;
}

}  // namespace verbena
