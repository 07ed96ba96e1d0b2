#pragma once

#include <cstdint>

#include "base/result.h"

namespace verbena::memory {

// The error of a call on the tables, which has then changed nothing. Work requests and accesses
// fail with a Refusal instead.
enum class MemoryError : uint8_t {
  kNoSuchConsumer,
  kNoSuchDomain,
  kNoSuchGuest,
  kNoSuchKey,         // free, retired, or of another generation
  kWrongType,         // a window instead of a region, for example
  kWrongState,        // swapped out twice, registered twice, ...
  kInUse,             // another object still depends on it
  kLimitReached,      // a table is full: see options.h
  kTooLarge,          // longer than a translation table can cover
  kWraps,             // the range extends beyond 2^64
  kOutOfRange,        // beyond the object
  kMisaligned,        // not at a page boundary
  kBadPageList,       // too short for the length, first byte beyond the first page, or memory that
                      // a list may not contain
  kRightsTooWide,     // remote write without local write, for example
  kNotAuthorized,     // the owner has no such memory, or not with these rights
  kNotPrivileged,     // virtual and physical addresses are for privileged consumers
  kOverlap,           // segment over segment, frame mapped twice
  kNotMapped,         // no mapping to change or remove
  kOwnedByTheSystem,  // a shared page table is changed by its owner, not through the adapter
};

const char* NameOf(MemoryError error);

template <class T>
using MemoryResult = Result<T, MemoryError>;

}  // namespace verbena::memory
