#pragma once

#include <cstdint>

namespace verbena::memory {

// The reason why the tables refuse an access or a work request, in the order of the checks, a to g.
// The first check that fails determines the reason.
enum class Refusal : uint8_t {
  // a: the entry is valid
  kNoSuchKey,       // no entry, a free one, or a retired one
  kNotValid,        // reserved: not registered, unbound, invalidated, or spent
  kSwappedOut,      // the region is out; the key stays reserved
  kRegionNotValid,  // a window whose region is out
  kGuestGone,       // the guest that owned the memory is destroyed
  // b: the entry is of the right kind
  kWrongType,  // window used locally, region used remotely if that is disabled, ...
  // c: the entry belongs to the requester
  kWrongDomain,
  kWrongQp,
  // d: the key is of this generation of the entry
  kStaleVariant,
  // e: the bytes lie inside
  kOutOfRange,
  kNoSegment,  // inside the region, but the owner has no such memory
  // f: the kind of access is granted
  kNoRight,
  kOwnerHasNoRight,  // granted, but the owner itself has no such right
  // g: windows may be bound to this region; the message fits the command of this iSCSI task
  kNotBindable,
  kWrongCommand,

  // Without a letter: misuse of a work request.
  kMisaligned,      // atomic on an address that is not a multiple of 8
  kSameVariant,     // a new generation needs a new variant
  kStillInUse,      // a key that must be invalidated first, or a region with bound windows
  kNotInvalidable,  // an entry that work requests may not invalidate
  kTooManyPages,    // more than was reserved
  kBadPageList,     // misaligned page, first byte beyond the first page, list too short, or memory
                    // that no list may contain
  kRightsTooWide,   // more rights than the owner has
  kWraps,           // the range extends beyond 2^64
};

// 'a' to 'g', or '-' for a reason without a letter.
constexpr char CheckOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNoSuchKey:
    case Refusal::kNotValid:
    case Refusal::kSwappedOut:
    case Refusal::kRegionNotValid:
    case Refusal::kGuestGone:
      return 'a';
    case Refusal::kWrongType:
      return 'b';
    case Refusal::kWrongDomain:
    case Refusal::kWrongQp:
      return 'c';
    case Refusal::kStaleVariant:
      return 'd';
    case Refusal::kOutOfRange:
    case Refusal::kNoSegment:
      return 'e';
    case Refusal::kNoRight:
    case Refusal::kOwnerHasNoRight:
      return 'f';
    case Refusal::kNotBindable:
    case Refusal::kWrongCommand:
      return 'g';
    case Refusal::kMisaligned:
    case Refusal::kSameVariant:
    case Refusal::kStillInUse:
    case Refusal::kNotInvalidable:
    case Refusal::kTooManyPages:
    case Refusal::kBadPageList:
    case Refusal::kRightsTooWide:
    case Refusal::kWraps:
      return '-';
  }
  return '-';
}

const char* NameOf(Refusal refusal);  // for example "the key is stale"

}  // namespace verbena::memory
