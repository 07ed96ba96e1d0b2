#include "memory/memory_error.h"

namespace verbena::memory {

const char* NameOf(MemoryError error) {
  switch (error) {
    case MemoryError::kNoSuchConsumer:
      return "no such consumer";
    case MemoryError::kNoSuchDomain:
      return "no such protection domain";
    case MemoryError::kNoSuchGuest:
      return "no such guest";
    case MemoryError::kNoSuchKey:
      return "no such key";
    case MemoryError::kWrongType:
      return "the key is of the wrong type";
    case MemoryError::kWrongState:
      return "the entry is in the wrong state";
    case MemoryError::kInUse:
      return "still in use";
    case MemoryError::kLimitReached:
      return "the table is full";
    case MemoryError::kTooLarge:
      return "longer than a translation table covers; use larger pages or an implicit region";
    case MemoryError::kWraps:
      return "the range wraps around";
    case MemoryError::kOutOfRange:
      return "out of range";
    case MemoryError::kMisaligned:
      return "not at a page boundary";
    case MemoryError::kBadPageList:
      return "the page list does not cover the length, or contains memory that no list may contain";
    case MemoryError::kRightsTooWide:
      return "remote write and atomics need local write, and remote read needs local read";
    case MemoryError::kNotAuthorized:
      return "the owner may not access this memory";
    case MemoryError::kNotPrivileged:
      return "only privileged consumers may do this";
    case MemoryError::kOverlap:
      return "the range overlaps an existing mapping";
    case MemoryError::kNotMapped:
      return "nothing is mapped at this address";
    case MemoryError::kOwnedByTheSystem:
      return "a shared page table can only be changed by its owner";
  }
  return "?";
}

}  // namespace verbena::memory
