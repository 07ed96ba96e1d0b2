#pragma once

#include <cstdint>
#include <span>

namespace verbena::fuzz {

// Takes an input apart; zeros follow its end.
class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace verbena::fuzz
