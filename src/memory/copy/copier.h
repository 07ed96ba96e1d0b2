#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/result.h"
#include "memory/copy/guarded_copy.h"
#include "memory/copy/span_list.h"

// Copies and atomics on the spans of a translated access. All accesses are guarded: if a page is
// missing, the result reports it. SignalGuard must be installed.
//
// Thread rule: all functions can run in any thread at any time.

namespace verbena::memory {

// `copied` counts from the start of the copy; `fault` is the machine address of the missing byte.
using CopyOutcome = CopyResult;

// CopyIn fills a part of the list, and CopyOut copies a part of it to `to`. The part starts at
// `offset` and must lie inside the list.
[[nodiscard]] CopyOutcome CopyIn(const SpanList& to, uint64_t offset,
                                 std::span<const std::byte> from);
[[nodiscard]] CopyOutcome CopyOut(std::span<std::byte> to, const SpanList& from, uint64_t offset);

// The same for the whole list. REQUIRES: equal lengths.
[[nodiscard]] inline CopyOutcome CopyIn(const SpanList& to, std::span<const std::byte> from) {
  CHECK(from.size() == to.length());
  if (to.size() == 1) return GuardedCopy(PointerTo(to[0].address), from.data(), from.size());
  return CopyIn(to, 0, from);
}
[[nodiscard]] inline CopyOutcome CopyOut(std::span<std::byte> to, const SpanList& from) {
  CHECK(to.size() == from.length());
  if (from.size() == 1) return GuardedCopy(to.data(), PointerTo(from[0].address), to.size());
  return CopyOut(to, from, 0);
}

// The reason why an atomic operation was not executed.
struct AtomicFailure {
  enum class Reason {
    kMisaligned,  // the address is not a multiple of 8
    kMissing,     // the page is not mapped, or not writable
  };
  Reason reason;
  MachineAddress address;

  friend bool operator==(const AtomicFailure&, const AtomicFailure&) = default;
};

// Atomic operations on the 8 bytes of a list, in the byte order of the machine. They return the
// previous value.
[[nodiscard]] Result<uint64_t, AtomicFailure> CompareAndSwap(const SpanList& word,
                                                             uint64_t expected, uint64_t desired);
[[nodiscard]] Result<uint64_t, AtomicFailure> FetchAdd(const SpanList& word, uint64_t addend);

}  // namespace verbena::memory
