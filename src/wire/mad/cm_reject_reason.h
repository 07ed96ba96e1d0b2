#pragma once

#include <cstdint>

namespace verbena::wire {

// The reason of a REJ (IBA 12.6.7.2). Other numbers may arrive; they are passed to the consumer.
enum class CmRejectReason : uint16_t {
  kNoQp = 1,
  kNoEec = 2,
  kNoResources = 3,
  kTimeout = 4,  // the additional information is the CA GUID of the sender
  kUnsupported = 5,
  kInvalidCommId = 6,
  kInvalidCommInstance = 7,
  kInvalidServiceId = 8,
  kInvalidTransportType = 9,
  kStaleConnection = 10,
  kRdcDoesNotExist = 11,
  kPrimaryGid = 12,
  kPrimaryLid = 13,
  kPrimarySl = 14,
  kPrimaryTrafficClass = 15,
  kPrimaryHopLimit = 16,
  kPrimaryPacketRate = 17,
  kAlternateGid = 18,
  kAlternateLid = 19,
  kAlternateSl = 20,
  kAlternateTrafficClass = 21,
  kAlternateHopLimit = 22,
  kAlternatePacketRate = 23,
  kPortAndCmRedirect = 24,
  kPortRedirect = 25,
  kInvalidPathMtu = 26,
  kInsufficientResponderResources = 27,
  kConsumer = 28,
  kInvalidRnrRetryCount = 29,
  kDuplicateCommId = 30,
  kInvalidClassVersion = 31,
  kPrimaryFlowLabel = 32,
  kAlternateFlowLabel = 33,
};

// For example "consumer reject"; "reserved" for an undefined number.
[[nodiscard]] const char* NameOf(CmRejectReason reason);

}  // namespace verbena::wire
