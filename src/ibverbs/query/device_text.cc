#include "ibverbs/query/device_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <span>
#include <string_view>

#include "base/check.h"

namespace verbena::ibverbs {
namespace {

// Hexadecimal, in groups of two bytes separated by colons.
std::string GroupsText(std::span<const uint8_t> bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    if (i > 0) text += ':';
    text += HexText(static_cast<uint64_t>(bytes[i]) << 8 | bytes[i + 1], 4);
  }
  return text;
}

struct Speed {
  uint8_t code;  // active_speed
  unsigned gigabits;
  std::string_view name;
};
constexpr std::array<Speed, 3> kSpeeds = {{{32, 25, "EDR"}, {64, 50, "HDR"}, {128, 100, "NDR"}}};

}  // namespace

std::string HexText(uint64_t value, size_t digits) {
  std::array<char, 16> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, 16).ptr;
  std::string text(buffer.data(), end);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

std::string GuidText(__be64 guid) {
  return GroupsText(std::bit_cast<std::array<uint8_t, sizeof guid>>(guid));
}

std::string GidText(const Gid& gid) { return GroupsText(gid.bytes); }

std::string RateText(const ibv_port_attr& port) {
  const auto speed = std::ranges::find(kSpeeds, port.active_speed, &Speed::code);
  CHECK(speed != kSpeeds.end());
  // active_width 1, 2, 4 and 8 stand for 1, 4, 8 and 12 lanes.
  const unsigned lanes =
      port.active_width == 1 ? 1 : 4U * static_cast<unsigned>(std::countr_zero(port.active_width));
  return std::to_string(lanes * speed->gigabits) + " Gb/sec (" + std::to_string(lanes) + "X " +
         std::string(speed->name) + ")";
}

std::string CpuListText(unsigned count) {
  return count > 1 ? "0-" + std::to_string(count - 1) : "0";
}

std::string CpuMaskText(unsigned count) {
  constexpr unsigned kGroup = 32;
  const unsigned first = count % kGroup;
  std::string text = first > 0 ? HexText((uint64_t{1} << first) - 1, 0) : "";
  for (unsigned i = 0; i < count / kGroup; ++i) {
    if (!text.empty()) text += ',';
    text += "ffffffff";
  }
  return text;
}

}  // namespace verbena::ibverbs
