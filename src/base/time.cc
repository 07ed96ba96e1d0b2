#include "base/time.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace verbena {
namespace {

struct Unit {
  uint64_t ns;
  std::string_view name;
};

constexpr Unit kUnits[] = {{1'000'000'000, " s"}, {1'000'000, " ms"}, {1'000, " us"}, {1, " ns"}};

// The decimals after the whole part: ".5", ".007", or nothing.
std::string Decimals(uint64_t thousandths) {
  if (thousandths == 0) return "";
  std::string digits = std::to_string(1000 + thousandths);
  digits[0] = '.';
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

}  // namespace

std::string ToString(Duration duration) {
  const bool negative = duration.nanoseconds() < 0;
  // Unsigned, because the smallest signed number has no negative.
  const auto bits = static_cast<uint64_t>(duration.nanoseconds());
  const uint64_t magnitude = negative ? 0 - bits : bits;
  const Unit* unit = kUnits;
  while (unit->ns > 1 && magnitude < unit->ns) ++unit;

  std::string text = (negative ? "-" : "") + std::to_string(magnitude / unit->ns);
  if (unit->ns > 1) text += Decimals(magnitude % unit->ns / (unit->ns / 1000));
  return text.append(unit->name);
}

}  // namespace verbena
