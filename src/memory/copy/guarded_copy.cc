#include "memory/copy/guarded_copy.h"

#include "base/check.h"

namespace verbena::memory {

#if VERBENA_GUARDED_ASSEMBLY

namespace internal::assembly {
namespace {

// A range of the assembly code that can fault, and the address at which a thread resumes.
struct Recovery {
  uintptr_t begin;
  uintptr_t end;
  uintptr_t resume;
};

}  // namespace

extern "C" {
[[gnu::visibility("hidden")]] extern const Recovery verbena_guarded_recoveries[];
[[gnu::visibility("hidden")]] extern const Recovery verbena_guarded_recoveries_end[];

// Whether this processor has 32-byte vectors. False until initialised, which only costs speed.
[[gnu::visibility("hidden")]] extern const bool verbena_guarded_copy_wide;
const bool verbena_guarded_copy_wide = __builtin_cpu_supports("avx");
}

uintptr_t RecoveryFor(uintptr_t program_counter) {
  for (const Recovery* row = verbena_guarded_recoveries; row != verbena_guarded_recoveries_end;
       ++row) {
    if (program_counter >= row->begin && program_counter < row->end) return row->resume;
  }
  return 0;
}

}  // namespace internal::assembly

#endif

namespace {

void CheckAligned(const void* word) { CHECK(reinterpret_cast<uintptr_t>(word) % 8 == 0); }

Result<uint64_t, MemoryFault> ResultOf(internal::RawWord raw, const void* word) {
  if (raw.missing != 0) return Fail(MemoryFault{MachineAddressOf(word)});
  return raw.value;
}

}  // namespace

Result<uint64_t, MemoryFault> GuardedLoad64(const void* word) {
  CheckAligned(word);
  return ResultOf(internal::raw::Load(word), word);
}

Result<void, MemoryFault> GuardedStore64(void* word, uint64_t value) {
  CheckAligned(word);
  // An exchange, because a plain store may pass a later load and so is not sequentially consistent.
  const auto before = ResultOf(internal::raw::Exchange(word, value), word);
  if (!before) return Fail(before.error());
  return {};
}

Result<uint64_t, MemoryFault> GuardedCompareAndSwap64(void* word, uint64_t expected,
                                                      uint64_t desired) {
  CheckAligned(word);
  return ResultOf(internal::raw::CompareAndSwap(word, expected, desired), word);
}

Result<uint64_t, MemoryFault> GuardedFetchAdd64(void* word, uint64_t addend) {
  CheckAligned(word);
  return ResultOf(internal::raw::FetchAdd(word, addend), word);
}

}  // namespace verbena::memory
