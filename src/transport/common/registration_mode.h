#pragma once

#include <cstdint>

namespace verbena::transport {

// What becomes of a queue pair when a work request that registers memory fails (row B3).
enum class RegistrationMode : uint8_t {
  kDisabled,      // such work requests are refused, as any other that fails
  kAnticipatory,  // the queue pair is in error
  kReactive,      // the send queue is drained: sends are flushed until it is resumed, the receive
                  // side goes on
};

}  // namespace verbena::transport
