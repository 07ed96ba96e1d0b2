#pragma once

#include <cstdint>

#include "base/result.h"

namespace verbena::memory {

// Why a call on the tables failed. The tables are then as they were before the call. Work requests
// and accesses fail with a Refusal instead.
enum class MemoryError : uint8_t {
  kNoSuchConsumer,
  kNoSuchDomain,
  kNoSuchGuest,
  kNoSuchKey,         // free, retired, or of another generation
  kWrongType,         // a region was meant and a window given, or the like
  kWrongState,        // swapped out twice, filled in twice, ...
  kInUse,             // something still depends on it
  kLimitReached,      // a table is full; the options say which and how large
  kTooLarge,          // longer than a translation table can cover
  kWraps,             // range runs past 2^64
  kOutOfRange,        // beyond the object
  kMisaligned,        // not on a page border
  kBadPageList,       // too short for the length, first byte beyond the first page, or memory that
                      // no list may name
  kRightsTooWide,     // remote write without local write, and the like
  kNotAuthorized,     // the owner itself has no such memory, or not with these rights
  kNotPrivileged,     // virtual and physical addresses are for privileged consumers
  kOverlap,           // segment over segment, frame mapped twice
  kNotMapped,         // nothing there to change or take away
  kOwnedByTheSystem,  // a shared page table is written by its owner, not through the adapter
};

const char* NameOf(MemoryError error);

template <class T>
using MemoryResult = Result<T, MemoryError>;

}  // namespace verbena::memory
