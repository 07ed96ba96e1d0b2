#pragma once

#include <cstdint>

namespace verbena::wire {

// Attribute ids of the communication-management class: which message a MAD is (IBA 16.7.2).
enum class CmAttribute : uint16_t {
  kClassPortInfo = 0x0001,
  kReq = 0x0010,
  kMra = 0x0011,
  kRej = 0x0012,
  kRep = 0x0013,
  kRtu = 0x0014,
  kDreq = 0x0015,
  kDrep = 0x0016,
  kSidrReq = 0x0017,
  kSidrRep = 0x0018,
  kLap = 0x0019,
  kApr = 0x001A,
};

}  // namespace verbena::wire
