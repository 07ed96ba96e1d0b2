#pragma once

#include <cstdint>

namespace verbena::wire {

// Why a stream was terminated: layer (4 bits), error type (4 bits), error code (8 bits). Other
// numbers may arrive.
enum class TerminateCode : uint16_t {
  // Layer 0, RDMAP (RFC 5040, 4.8). Type 0: local catastrophic error.
  kRdmapCatastrophic = 0x0000,
  // Type 1: remote protection error.
  kRdmapInvalidStag = 0x0100,
  kRdmapBounds = 0x0101,
  kRdmapAccess = 0x0102,
  kRdmapNotAssociated = 0x0103,
  kRdmapWrap = 0x0104,
  kRdmapCannotInvalidate = 0x0109,
  kRdmapProtectionUnspecified = 0x01FF,
  // Type 2: remote operation error.
  kRdmapVersion = 0x0205,
  kRdmapUnexpectedOpcode = 0x0206,
  kRdmapStreamCatastrophic = 0x0207,
  kRdmapGlobalCatastrophic = 0x0208,
  kRdmapOperationCannotInvalidate = 0x0209,
  kRdmapOperationUnspecified = 0x02FF,

  // Layer 1, DDP (RFC 5041, 8.2). Type 0: local catastrophic error.
  kDdpCatastrophic = 0x1000,
  // Type 1: tagged buffer.
  kDdpTaggedInvalidStag = 0x1100,
  kDdpTaggedBounds = 0x1101,
  kDdpTaggedNotAssociated = 0x1102,
  kDdpTaggedWrap = 0x1103,
  kDdpTaggedVersion = 0x1104,
  // Type 2: untagged buffer.
  kDdpUntaggedQueue = 0x1201,
  kDdpUntaggedNoBuffer = 0x1202,
  kDdpUntaggedMsnRange = 0x1203,
  kDdpUntaggedOffset = 0x1204,
  kDdpUntaggedTooLong = 0x1205,
  kDdpUntaggedVersion = 0x1206,

  // Layer 2, the lower layer. Type 0: MPA (RFC 5044, 8; RFC 6581, 8).
  kMpaConnectionLost = 0x2001,
  kMpaCrc = 0x2002,
  kMpaMarker = 0x2003,
  kMpaInvalidFrame = 0x2004,
  kMpaCatastrophic = 0x2005,
  kMpaInsufficientIrd = 0x2006,
  kMpaNoMatchingRtr = 0x2007,
};

// "DDP: base or bounds violation"; "unknown" for a number without a meaning.
[[nodiscard]] const char* NameOf(TerminateCode code);

}  // namespace verbena::wire
