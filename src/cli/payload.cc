#include "cli/payload.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/random.h"

namespace verbena::cli {
namespace {

using Word = std::array<std::byte, sizeof(uint64_t)>;

}  // namespace

void FillPayload(std::span<std::byte> bytes, uint64_t seed) {
  Random random(seed);
  while (!bytes.empty()) {
    const auto word = std::bit_cast<Word>(random.Next64());
    const size_t length = std::min(word.size(), bytes.size());
    std::copy_n(word.begin(), length, bytes.begin());
    bytes = bytes.subspan(length);
  }
}

std::optional<size_t> FindWrongByte(std::span<const std::byte> bytes, uint64_t seed) {
  Random random(seed);
  for (size_t offset = 0; offset < bytes.size(); offset += sizeof(Word)) {
    const auto word = std::bit_cast<Word>(random.Next64());
    const auto part = bytes.subspan(offset, std::min(word.size(), bytes.size() - offset));
    const auto wrong = std::ranges::mismatch(part, word).in1;
    if (wrong != part.end()) return offset + static_cast<size_t>(wrong - part.begin());
  }
  return std::nullopt;
}

}  // namespace verbena::cli
