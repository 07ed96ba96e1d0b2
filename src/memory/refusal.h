#pragma once

#include <cstdint>

namespace verbena::memory {

// Why the tables refused an access or a work request. One reason each, in the order in which the
// checks are made: the source documents letter them a to g, and the first that fails is the answer.
enum class Refusal : uint8_t {
  // a: the entry is valid
  kNoSuchKey,       // no entry, a free one, or a retired one
  kNotValid,        // reserved: never filled in, unbound, invalidated, or used up
  kSwappedOut,      // the region is out; the key stays reserved
  kRegionNotValid,  // a window whose region is out
  kGuestGone,       // the guest that owned the memory is no more
  // b: the entry is of the right kind
  kWrongType,  // window used locally, region used remotely where that is switched off, ...
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
  kOwnerHasNoRight,  // granted, but the owner itself may not
  // g: windows may be bound to this region; the message fits the command of this iSCSI task
  kNotBindable,
  kWrongCommand,

  // Beside the lettered checks: misuse of a work request.
  kMisaligned,      // atomic on an address that is not a multiple of 8
  kSameVariant,     // a new generation needs a new variant
  kStillInUse,      // a key that must be invalidated first, or a region with windows on it
  kNotInvalidable,  // kind of entry that no work request may invalidate
  kTooManyPages,    // more than was reserved
  kBadPageList,     // misaligned page, first byte beyond the first page, list too short, or memory
                    // that no list may name
  kRightsTooWide,   // asks for more than the granting owner has
  kWraps,           // range runs past 2^64
};

// 'a' to 'g', or '-' for what is not one of the lettered checks.
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

const char* NameOf(Refusal refusal);  // a sentence fragment: "the key's variant is stale"

}  // namespace verbena::memory
