#pragma once

#include <cstdint>

namespace verbena::memory {

// Why the tables refused an access or a work request. One reason each, in the order in which the
// checks are made: the source documents letter them a to g, and the first that fails is the answer.
enum class Denial : uint8_t {
  // a: the entry is valid
  kNoSuchKey,       // no entry, a free one, or a retired one
  kNotValid,        // reserved: never filled in, unbound, invalidated, or used up
  kSwappedOut,      // the region is out; the key stays reserved
  kRegionNotValid,  // a window whose region is out
  kGuestGone,       // the guest that owned the memory is no more
  // b: the entry is of the right kind
  kWrongType,  // window used locally, region used remotely where that is switched off, ...
  // c: the entry belongs to the one who asks
  kWrongDomain,
  kWrongQp,
  // d: the key is of this life of the entry
  kStaleInstance,
  // e: the bytes lie inside
  kOutOfRange,
  kNoSegment,  // inside the region, but the owner has no such memory
  // f: the kind of access is granted
  kNoRight,
  kOwnerHasNoRight,  // granted, but the owner itself may not
  // g: windows may be bound to this region; the message fits the command of this iSCSI task
  kNotBindable,
  kWrongCommand,

  // Beside the lettered checks: misuse of a work request.
  kMisaligned,      // atomic on an address that is not a multiple of 8
  kSameInstance,    // a new life needs a new instance
  kStillInUse,      // a key that must be invalidated first, or a region with windows on it
  kNotInvalidable,  // kind of entry that no work request may invalidate
  kTooManyPages,    // more than was reserved
  kBadPageList,     // misaligned page, first byte beyond the first page, list too short, or memory
                    // that no list may name
  kRightsTooWide,   // asks for more than the one who grants it has
  kWraps,           // range runs past 2^64
};

inline constexpr char kFirstCheck = 'a';
inline constexpr unsigned kCheckCount = 7;
inline constexpr unsigned kRemoteCheckCount = 6;  // g is for binds, and for iSCSI

// 'a' to 'g', or '-' for what is not one of the lettered checks.
constexpr char CheckOf(Denial denial) {
  switch (denial) {
    case Denial::kNoSuchKey:
    case Denial::kNotValid:
    case Denial::kSwappedOut:
    case Denial::kRegionNotValid:
    case Denial::kGuestGone:
      return 'a';
    case Denial::kWrongType:
      return 'b';
    case Denial::kWrongDomain:
    case Denial::kWrongQp:
      return 'c';
    case Denial::kStaleInstance:
      return 'd';
    case Denial::kOutOfRange:
    case Denial::kNoSegment:
      return 'e';
    case Denial::kNoRight:
    case Denial::kOwnerHasNoRight:
      return 'f';
    case Denial::kNotBindable:
    case Denial::kWrongCommand:
      return 'g';
    case Denial::kMisaligned:
    case Denial::kSameInstance:
    case Denial::kStillInUse:
    case Denial::kNotInvalidable:
    case Denial::kTooManyPages:
    case Denial::kBadPageList:
    case Denial::kRightsTooWide:
    case Denial::kWraps:
      return '-';
  }
  return '-';
}

const char* NameOf(Denial denial);  // a sentence fragment: "the key's instance is stale"

}  // namespace verbena::memory
