#pragma once

#include <cstdint>

namespace verbena::transport {

// Why a call was refused. A refused call has changed nothing.
enum class CmError : uint8_t {
  kUnknownId,  // the connection does not exist, or no longer
  kWrongState,
  kQpInUse,  // by another connection, or by one in timewait
  kTooManyConnections,
  kTooManyListeners,
  kServiceInUse,
  kNotListening,
};

[[nodiscard]] const char* NameOf(CmError error);

}  // namespace verbena::transport
