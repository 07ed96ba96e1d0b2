#include "transport/cm/cm_error.h"

#include "base/check.h"

namespace verbena::transport {

const char* NameOf(CmError error) {
  switch (error) {
    case CmError::kUnknownId:
      return "no such connection";
    case CmError::kWrongState:
      return "the connection is in another state";
    case CmError::kQpInUse:
      return "the QP number is in use, or in timewait";
    case CmError::kTooManyConnections:
      return "too many connections";
    case CmError::kTooManyListeners:
      return "too many listeners";
    case CmError::kServiceInUse:
      return "the service id is in use";
    case CmError::kNotListening:
      return "the service id has no listener";
  }
  UNREACHABLE();
}

}  // namespace verbena::transport
