#include "memory/refusal.h"

namespace verbena::memory {

const char* NameOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNoSuchKey:
      return "no such key";
    case Refusal::kNotValid:
      return "the key is not valid";
    case Refusal::kSwappedOut:
      return "the region is swapped out";
    case Refusal::kRegionNotValid:
      return "the window's region is not valid";
    case Refusal::kGuestGone:
      return "the guest is gone";
    case Refusal::kWrongType:
      return "the key is of the wrong type";
    case Refusal::kWrongDomain:
      return "the key belongs to another protection domain";
    case Refusal::kWrongQp:
      return "the key belongs to another queue pair";
    case Refusal::kStaleVariant:
      return "the key is stale";
    case Refusal::kOutOfRange:
      return "the bytes lie outside of the region or window";
    case Refusal::kNoSegment:
      return "the owner has no memory there";
    case Refusal::kNoRight:
      return "the access is not granted";
    case Refusal::kOwnerHasNoRight:
      return "the owner itself may not access the memory";
    case Refusal::kNotBindable:
      return "windows may not be bound to the region";
    case Refusal::kWrongCommand:
      return "the message does not fit the command";
    case Refusal::kMisaligned:
      return "the address is not a multiple of 8";
    case Refusal::kSameVariant:
      return "the new key must differ from the old one";
    case Refusal::kStillInUse:
      return "still in use: invalidate it first";
    case Refusal::kNotInvalidable:
      return "the key cannot be invalidated by a work request";
    case Refusal::kTooManyPages:
      return "more pages than were reserved";
    case Refusal::kBadPageList:
      return "the page list is malformed, or contains memory that no list may contain";
    case Refusal::kRightsTooWide:
      return "the rights exceed those of the owner";
    case Refusal::kWraps:
      return "the range wraps around";
  }
  return "?";
}

}  // namespace verbena::memory
