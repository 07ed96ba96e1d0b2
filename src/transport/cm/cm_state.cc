#include "transport/cm/cm_state.h"

#include "base/check.h"

namespace verbena::transport {

const char* NameOf(CmState state) {
  switch (state) {
    case CmState::kReqSent:
      return "REQ sent";
    case CmState::kMraReqReceived:
      return "MRA(REQ) received";
    case CmState::kRepReceived:
      return "REP received";
    case CmState::kMraRepSent:
      return "MRA(REP) sent";
    case CmState::kReqReceived:
      return "REQ received";
    case CmState::kMraReqSent:
      return "MRA(REQ) sent";
    case CmState::kRepSent:
      return "REP sent";
    case CmState::kMraRepReceived:
      return "MRA(REP) received";
    case CmState::kEstablished:
      return "established";
    case CmState::kDreqSent:
      return "DREQ sent";
    case CmState::kDreqReceived:
      return "DREQ received";
    case CmState::kTimeWait:
      return "timewait";
    case CmState::kClosed:
      return "closed";
  }
  UNREACHABLE();
}

}  // namespace verbena::transport
