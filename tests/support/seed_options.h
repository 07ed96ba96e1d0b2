#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>

namespace verbena {

// The options of programs that run seeds: --seed N and --seeds A..B, both ends included.
struct SeedRange {
  uint64_t first = 1;
  uint64_t last = 1;

  friend bool operator==(const SeedRange&, const SeedRange&) = default;
};

// nullopt if the text is not a decimal number, or has more than 18 digits.
inline std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t value = 0;
  if (text.empty() || text.size() > 18) return std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

// "7" or "1..2000"; nullopt also if the last is less than the first.
inline std::optional<SeedRange> ParseSeeds(std::string_view text) {
  const size_t dots = text.find("..");
  const auto first = ParseNumber(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : ParseNumber(text.substr(dots + 2));
  if (!first.has_value() || !last.has_value() || *last < *first) return std::nullopt;
  return SeedRange{*first, *last};
}

// True if the option is --seed or --seeds, and its value is valid.
inline bool ParseSeedOption(std::string_view name, std::string_view value, SeedRange& seeds) {
  const bool is_one = name == "--seed" && ParseNumber(value).has_value();
  if (!is_one && name != "--seeds") return false;
  const auto parsed = ParseSeeds(value);
  if (parsed.has_value()) seeds = *parsed;
  return parsed.has_value();
}

// Calls flag(name) for each argument; if that returns false, calls option(name, value) with the
// next argument as the value. False, after an error message, if an argument is neither.
template <class Flag, class Option>
bool ParseArguments(int argc, char** argv, Flag flag, Option option) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (flag(name)) continue;
    const bool has_value = ++i < argc;
    if (has_value && option(name, std::string_view(argv[i]))) continue;
    std::fprintf(stderr, "%s: '%s%s%s' is no option, or has no valid value\n", argv[0], argv[i - 1],
                 has_value ? " " : "", has_value ? argv[i] : "");
    return false;
  }
  return true;
}

}  // namespace verbena
