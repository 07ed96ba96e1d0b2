#include "memory/denial.h"

namespace verbena::memory {

const char* NameOf(Denial denial) {
  switch (denial) {
    case Denial::kNoSuchKey:
      return "no such key";
    case Denial::kNotValid:
      return "the key is not valid";
    case Denial::kSwappedOut:
      return "the region is swapped out";
    case Denial::kRegionNotValid:
      return "the window's region is not valid";
    case Denial::kGuestGone:
      return "the guest is gone";
    case Denial::kWrongType:
      return "the key is of the wrong type";
    case Denial::kWrongDomain:
      return "the key belongs to another protection domain";
    case Denial::kWrongQp:
      return "the key belongs to another queue pair";
    case Denial::kStaleInstance:
      return "the key is stale";
    case Denial::kOutOfRange:
      return "the bytes lie outside";
    case Denial::kNoSegment:
      return "the owner has no memory there";
    case Denial::kNoRight:
      return "the access is not granted";
    case Denial::kOwnerHasNoRight:
      return "the owner itself may not";
    case Denial::kNotBindable:
      return "windows may not be bound to the region";
    case Denial::kWrongCommand:
      return "the message does not fit the command";
    case Denial::kMisaligned:
      return "the address is not a multiple of 8";
    case Denial::kSameInstance:
      return "the new key must differ from the old one";
    case Denial::kStillInUse:
      return "still in use: invalidate it first";
    case Denial::kNotInvalidable:
      return "the key cannot be invalidated by a work request";
    case Denial::kTooManyPages:
      return "more pages than were reserved";
    case Denial::kBadPageList:
      return "the page list is malformed, or names memory that it may not";
    case Denial::kRightsTooWide:
      return "the rights are wider than the grantor's";
    case Denial::kWraps:
      return "the range wraps around";
  }
  return "?";
}

}  // namespace verbena::memory
