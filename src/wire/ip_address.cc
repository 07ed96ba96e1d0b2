#include "wire/ip_address.h"

#include <cstddef>

namespace verbena::wire {
namespace {

// Without leading zeros.
std::string HexGroup(unsigned group) {
  std::string text;
  for (int shift = 12; shift >= 0; shift -= 4) {
    const unsigned digit = group >> shift & 0xF;
    if (digit != 0 || !text.empty() || shift == 0) text += "0123456789abcdef"[digit];
  }
  return text;
}

}  // namespace

std::string ToString(Ipv4Address address) {
  const uint32_t v = address.value();
  return std::to_string(v >> 24) + '.' + std::to_string(v >> 16 & 0xFF) + '.' +
         std::to_string(v >> 8 & 0xFF) + '.' + std::to_string(v & 0xFF);
}

std::string ToString(const IpAddress& address) {
  if (const auto ipv4 = address.ipv4()) return ToString(*ipv4);
  std::string text;
  for (std::size_t i = 0; i < address.bytes.size(); i += 2) {
    if (i != 0) text += ':';
    text += HexGroup(unsigned{address.bytes[i]} << 8 | address.bytes[i + 1]);
  }
  return text;
}

}  // namespace verbena::wire
