#include "transport/common/qp_state.h"

#include "base/check.h"

namespace verbena {

const char* NameOf(QpState state) {
  switch (state) {
    case QpState::kReset:
      return "RESET";
    case QpState::kInit:
      return "INIT";
    case QpState::kRtr:
      return "RTR";
    case QpState::kRts:
      return "RTS";
    case QpState::kSqd:
      return "SQD";
    case QpState::kSqe:
      return "SQE";
    case QpState::kErr:
      return "ERR";
  }
  return "?";
}

const char* NameOf(QpType type) {
  switch (type) {
    case QpType::kRc:
      return "RC";
    case QpType::kUc:
      return "UC";
    case QpType::kUd:
      return "UD";
    case QpType::kXrcSend:
      return "XRC_SEND";
    case QpType::kXrcReceive:
      return "XRC_RECV";
    case QpType::kStream:
      return "STREAM";
  }
  return "?";
}

namespace transport {

wire::Service ServiceOf(QpType type) {
  switch (type) {
    case QpType::kRc:
      return wire::Service::kRc;
    case QpType::kUc:
      return wire::Service::kUc;
    case QpType::kUd:
      return wire::Service::kUd;
    case QpType::kXrcSend:
    case QpType::kXrcReceive:
      return wire::Service::kXrc;
    case QpType::kStream:
      break;  // it has no packets
  }
  UNREACHABLE();
}

}  // namespace transport
}  // namespace verbena
