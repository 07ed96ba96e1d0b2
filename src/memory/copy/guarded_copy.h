#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "memory/address.h"
#include "memory/copy/guarded_copy_raw.h"
#include "memory/copy/signal_guard.h"

// Accesses that cannot crash. The application may unmap, truncate or protect registered memory at
// any time; a guarded access that meets a missing page returns a result, and never ends the
// process.
//
// On x86-64 a signal handler catches the fault, so SignalGuard must be installed before the first
// access; an access that succeeds has no extra cost. On other architectures the kernel copies,
// which is slow but raises no signal.
//
// Thread rule: all functions can run in any thread at any time.

namespace verbena::memory {

// Whether guarded atomics are atomic with respect to all accesses of processors (IBV_ATOMIC_GLOB),
// or, without the assembly code, only with respect to each other (IBV_ATOMIC_HCA).
inline constexpr bool kGuardedAtomicsAreGlobal = VERBENA_GUARDED_ASSEMBLY;

// The byte that could not be reached.
struct MemoryFault {
  MachineAddress address;

  friend bool operator==(const MemoryFault&, const MemoryFault&) = default;
};

// The first `copied` bytes are in place. `fault` is the address of the byte that stopped the copy,
// in the source or in the target, and is empty when all bytes are in place.
struct CopyResult {
  uint64_t copied = 0;
  std::optional<MachineAddress> fault;

  friend bool operator==(const CopyResult&, const CopyResult&) = default;
};

// Copies from low to high addresses. The result is unspecified where the two ranges overlap, as for
// memcpy, and, after a fault, for the target's bytes after the first `copied`.
[[nodiscard]] inline CopyResult GuardedCopy(void* to, const void* from, size_t size) {
  const internal::RawCopy raw = internal::raw::Copy(to, from, size);
  if (raw.copied == size) [[likely]] {
    return {.copied = size, .fault = std::nullopt};
  }
  return {.copied = raw.copied, .fault = MachineAddress(raw.fault)};
}

// Sequentially consistent accesses to one word, which must be aligned to 8 bytes. The last three
// return the previous value.
[[nodiscard]] Result<uint64_t, MemoryFault> GuardedLoad64(const void* word);
[[nodiscard]] Result<void, MemoryFault> GuardedStore64(void* word, uint64_t value);
[[nodiscard]] Result<uint64_t, MemoryFault> GuardedCompareAndSwap64(void* word, uint64_t expected,
                                                                    uint64_t desired);
[[nodiscard]] Result<uint64_t, MemoryFault> GuardedFetchAdd64(void* word, uint64_t addend);

}  // namespace verbena::memory
