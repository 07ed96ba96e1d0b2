#pragma once

#include <cstddef>
#include <cstdint>

// The guarded accesses of each architecture, for guarded_copy.h and its files only.

namespace verbena::memory::internal {

struct RawCopy {
  uint64_t copied;
  uint64_t fault;  // valid if fewer bytes were copied than requested
};

struct RawWord {
  uint64_t value;    // before the operation
  uint64_t missing;  // 1 if the page is missing
};

#if defined(__x86_64__)
#define VERBENA_GUARDED_ASSEMBLY 1

// guarded_copy_x86_64.S: can fault, and relies on SignalGuard.
namespace assembly {
#define VERBENA_IN_ASSEMBLY(name) __asm__(#name) __attribute__((visibility("hidden")))
RawCopy Copy(void* to, const void* from, size_t size) VERBENA_IN_ASSEMBLY(verbena_guarded_copy);
RawWord Load(const void* word) VERBENA_IN_ASSEMBLY(verbena_guarded_load);
RawWord Exchange(void* word, uint64_t value) VERBENA_IN_ASSEMBLY(verbena_guarded_exchange);
RawWord FetchAdd(void* word, uint64_t addend) VERBENA_IN_ASSEMBLY(verbena_guarded_fetch_add);
RawWord CompareAndSwap(void* word, uint64_t expected, uint64_t desired)
    VERBENA_IN_ASSEMBLY(verbena_guarded_compare_and_swap);
#undef VERBENA_IN_ASSEMBLY

// For the signal handler: the address at which a thread that faulted at `program_counter` resumes,
// or 0 if it was not in a guarded access.
uintptr_t RecoveryFor(uintptr_t program_counter);
}  // namespace assembly

#else
#define VERBENA_GUARDED_ASSEMBLY 0
#endif

// guarded_copy_portable.cc: the kernel copies within this process, and returns a count where a
// plain access would raise a signal. Compiled on all architectures, so that it is tested on all.
namespace portable {
RawCopy Copy(void* to, const void* from, size_t size);
RawWord Load(const void* word);
RawWord Exchange(void* word, uint64_t value);
RawWord FetchAdd(void* word, uint64_t addend);
RawWord CompareAndSwap(void* word, uint64_t expected, uint64_t desired);
}  // namespace portable

#if VERBENA_GUARDED_ASSEMBLY
namespace raw = assembly;
#else
namespace raw = portable;
#endif

}  // namespace verbena::memory::internal
