#include "verbena/cm_event.h"

#include "base/check.h"

namespace verbena {

const char* NameOf(CmEventType type) {
  switch (type) {
    case CmEventType::kConnectRequest:
      return "connect request";
    case CmEventType::kConnectResponse:
      return "connect response";
    case CmEventType::kEstablished:
      return "established";
    case CmEventType::kRejected:
      return "rejected";
    case CmEventType::kUnreachable:
      return "unreachable";
    case CmEventType::kDisconnected:
      return "disconnected";
    case CmEventType::kTimewaitExit:
      return "timewait exit";
    case CmEventType::kSidrRequest:
      return "SIDR request";
    case CmEventType::kSidrResponse:
      return "SIDR response";
    case CmEventType::kSidrUnreachable:
      return "SIDR unreachable";
    case CmEventType::kPosted:
      return "posted";
  }
  UNREACHABLE();
}

}  // namespace verbena
