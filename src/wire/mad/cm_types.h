#pragma once

#include <cstddef>
#include <cstdint>

#include "verbena/strong_id.h"
#include "wire/mad/cm_timeout.h"

namespace verbena::wire {

// The numbers in communication-management MADs, each a type of its own.

using CommId = StrongId<struct CommIdTag, uint32_t>;  // local or remote communication id
using ServiceId = StrongId<struct ServiceIdTag, uint64_t>;
using CaGuid = StrongId<struct CaGuidTag, uint64_t>;
using SidrRequestId = StrongId<struct SidrRequestIdTag, uint32_t>;
using TransactionId = StrongId<struct TransactionIdTag, uint64_t>;
using Lid = StrongId<struct LidTag, uint16_t>;

// A path MTU of 128 << code bytes, in 4 bits; codes 1 to 5 are defined (IBA 12.7.8).
using CmMtu = StrongId<struct CmMtuTag, uint8_t>;

[[nodiscard]] constexpr bool IsDefined(CmMtu mtu) { return mtu.value() >= 1 && mtu.value() <= 5; }

// What of a service a connection is (IBA 12.6.5): `extended_transport` says more about the last.
enum class CmServiceType : uint8_t { kRc = 0, kUc = 1, kRd = 2, kExtended = 3 };

// Enhanced connection establishment, in a REQ or REP: options of a vendor. The message has the
// vendor, the attribute modifier of the MAD header has the options.
struct CmEce {
  uint32_t vendor_id = 0;  // 24 bits; 0: none
  uint32_t options = 0;

  friend bool operator==(const CmEce&, const CmEce&) = default;
};

// Which message an MRA or a REJ is about, in 2 bits.
enum class CmSubject : uint8_t { kReq = 0, kRep = 1, kOther = 2 };

[[nodiscard]] constexpr bool IsDefined(CmSubject subject) { return subject <= CmSubject::kOther; }
[[nodiscard]] constexpr const char* NameOf(CmSubject subject) {
  constexpr const char* kNames[] = {"REQ", "REP", "other"};
  return IsDefined(subject) ? kNames[static_cast<std::size_t>(subject)] : "reserved";
}

// What became of a LAP (IBA 12.8.2); of the other codes each names one wrong field.
enum class CmAprStatus : uint8_t { kAccepted = 0, kInvalidCommId = 1, kUnsupported = 2 };

// What became of a SIDR_REQ (IBA 12.11.2).
enum class CmSidrStatus : uint8_t {
  kValid = 0,
  kInvalidServiceId = 1,
  kRejected = 2,
  kNoQp = 3,
  kRedirected = 4,
  kUnsupportedVersion = 5,
};

// A MAD is 256 bytes, of which the common header takes 24.
inline constexpr std::size_t kMadSize = 256;
inline constexpr std::size_t kCmMessageSize = kMadSize - 24;

}  // namespace verbena::wire
