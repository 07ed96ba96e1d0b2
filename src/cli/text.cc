#include "cli/text.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <span>

namespace verbena::cli {
namespace {

// Three significant digits, without trailing zeros after the point.
std::string Scaled(double value, double step, std::span<const char* const> units) {
  size_t unit = 0;
  while (value >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return Text("%.*g%s", value >= 1'000 ? 4 : 3, value, units[unit]);
}

}  // namespace

std::string Text(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::va_list again;
  va_copy(again, arguments);
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 does not see va_start
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(static_cast<size_t>(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string BytesText(double bytes) {
  constexpr std::array kUnits{" bytes", " KiB", " MiB", " GiB", " TiB"};
  if (bytes == 1) return "1 byte";
  return Scaled(bytes, 1'024, kUnits);
}

std::string CountText(double count) {
  constexpr std::array kUnits{"", " k", " M", " G"};
  return Scaled(count, 1'000, kUnits);
}

}  // namespace verbena::cli
