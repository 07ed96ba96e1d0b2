#include "transport/common/async_event.h"

namespace verbena {

const char* NameOf(AsyncEventType type) {
  switch (type) {
    case AsyncEventType::kCommunicationEstablished:
      return "communication established";
    case AsyncEventType::kSendQueueDrained:
      return "send queue drained";
    case AsyncEventType::kLastWqeReached:
      return "last WQE reached";
    case AsyncEventType::kQpFatal:
      return "QP fatal error";
    case AsyncEventType::kQpRequestError:
      return "QP request error";
    case AsyncEventType::kQpAccessError:
      return "QP access error";
    case AsyncEventType::kCqError:
      return "CQ error";
    case AsyncEventType::kSrqLimitReached:
      return "SRQ limit reached";
    case AsyncEventType::kGidChange:
      return "GID change";
  }
  return "?";
}

}  // namespace verbena
