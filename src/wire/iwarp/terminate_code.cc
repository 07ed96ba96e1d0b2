#include "wire/iwarp/terminate_code.h"

namespace verbena::wire {

// NOLINTNEXTLINE(readability-function-size): a table
const char* NameOf(TerminateCode code) {
  switch (code) {
    case TerminateCode::kRdmapCatastrophic:
      return "RDMAP: local catastrophic error";
    case TerminateCode::kRdmapInvalidStag:
      return "RDMAP: invalid STag";
    case TerminateCode::kRdmapBounds:
      return "RDMAP: base or bounds violation";
    case TerminateCode::kRdmapAccess:
      return "RDMAP: access rights violation";
    case TerminateCode::kRdmapNotAssociated:
      return "RDMAP: STag not associated with the stream";
    case TerminateCode::kRdmapWrap:
      return "RDMAP: tagged offset wraps";
    case TerminateCode::kRdmapCannotInvalidate:
    case TerminateCode::kRdmapOperationCannotInvalidate:
      return "RDMAP: STag cannot be invalidated";
    case TerminateCode::kRdmapProtectionUnspecified:
      return "RDMAP: unspecified protection error";
    case TerminateCode::kRdmapVersion:
      return "RDMAP: invalid version";
    case TerminateCode::kRdmapUnexpectedOpcode:
      return "RDMAP: unexpected opcode";
    case TerminateCode::kRdmapStreamCatastrophic:
      return "RDMAP: catastrophic error of the stream";
    case TerminateCode::kRdmapGlobalCatastrophic:
      return "RDMAP: global catastrophic error";
    case TerminateCode::kRdmapOperationUnspecified:
      return "RDMAP: unspecified operation error";
    case TerminateCode::kDdpCatastrophic:
      return "DDP: local catastrophic error";
    case TerminateCode::kDdpTaggedInvalidStag:
      return "DDP: invalid STag";
    case TerminateCode::kDdpTaggedBounds:
      return "DDP: base or bounds violation";
    case TerminateCode::kDdpTaggedNotAssociated:
      return "DDP: STag not associated with the stream";
    case TerminateCode::kDdpTaggedWrap:
      return "DDP: tagged offset wraps";
    case TerminateCode::kDdpTaggedVersion:
    case TerminateCode::kDdpUntaggedVersion:
      return "DDP: invalid version";
    case TerminateCode::kDdpUntaggedQueue:
      return "DDP: invalid queue number";
    case TerminateCode::kDdpUntaggedNoBuffer:
      return "DDP: no buffer for the message sequence number";
    case TerminateCode::kDdpUntaggedMsnRange:
      return "DDP: message sequence number out of range";
    case TerminateCode::kDdpUntaggedOffset:
      return "DDP: invalid message offset";
    case TerminateCode::kDdpUntaggedTooLong:
      return "DDP: message too long for its buffer";
    case TerminateCode::kMpaConnectionLost:
      return "MPA: connection lost";
    case TerminateCode::kMpaCrc:
      return "MPA: CRC error";
    case TerminateCode::kMpaMarker:
      return "MPA: marker and ULPDU length do not match";
    case TerminateCode::kMpaInvalidFrame:
      return "MPA: invalid request or reply frame";
    case TerminateCode::kMpaCatastrophic:
      return "MPA: local catastrophic error";
    case TerminateCode::kMpaInsufficientIrd:
      return "MPA: insufficient IRD resources";
    case TerminateCode::kMpaNoMatchingRtr:
      return "MPA: no matching RTR option";
  }
  return "unknown";
}

}  // namespace verbena::wire
