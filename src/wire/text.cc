#include "wire/text.h"

namespace verbena::wire {

std::string Hex(uint64_t value, unsigned digits) {
  std::string text = "0x";
  for (unsigned digit = digits; digit-- > 0;) {
    text += "0123456789abcdef"[digit < 16 ? value >> (4 * digit) & 0xF : 0];
  }
  return text;
}

}  // namespace verbena::wire
