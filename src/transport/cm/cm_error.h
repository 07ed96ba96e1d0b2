#pragma once

#include <cstdint>

namespace verbena::transport {

// Why a call was refused; then it has changed nothing.
enum class CmError : uint8_t {
  kUnknownId,  // no such connection, or it is gone
  kWrongState,
  kQpInUse,  // by another connection, or by one in timewait
  kTooManyConnections,
  kTooManyListeners,
  kServiceInUse,
  kNotListening,
};

[[nodiscard]] const char* NameOf(CmError error);

}  // namespace verbena::transport
