#pragma once

#include <cstdint>

namespace verbena::rsockets {

// The id of a work request, which identifies it when it completes. A value type.
struct WorkId {
  enum class Kind : uint8_t {
    kSend,     // value: bytes of the send buffer that it used
    kControl,  // value: the message, packed
    kReceive,  // value: the slot that it receives into
  };

  Kind kind{};
  uint32_t value = 0;

  [[nodiscard]] static constexpr WorkId Unpack(uint64_t id) {
    return {.kind = static_cast<Kind>(id >> 32), .value = static_cast<uint32_t>(id)};
  }
  [[nodiscard]] constexpr uint64_t Pack() const {
    return uint64_t{static_cast<uint8_t>(kind)} << 32 | value;
  }
};

}  // namespace verbena::rsockets
