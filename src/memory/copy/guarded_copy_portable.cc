#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "base/mutex.h"
#include "base/page.h"
#include "memory/copy/guarded_copy_raw.h"

namespace verbena::memory::internal::portable {
namespace {

// Whether all bytes were copied. The kernel guards both sides, although the call is intended for
// another process.
bool Move(void* to, const void* from, size_t size) {
  const iovec target = {.iov_base = to, .iov_len = size};
  const iovec source = {.iov_base = const_cast<void*>(from), .iov_len = size};
  return process_vm_readv(getpid(), &target, 1, &source, 1, 0) == static_cast<ssize_t>(size);
}

uintptr_t ToPageEnd(const void* pointer) {
  return kPageBytes - reinterpret_cast<uintptr_t>(pointer) % kPageBytes;
}

// One lock for the process, because its threads share the memory.
constinit Mutex update_mutex;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// Read, modify, write under one lock: atomic with respect to other guarded atomics, but not to
// plain accesses. See kGuardedAtomicsAreGlobal.
template <class Change>
RawWord Update(void* word, Change change) {
  const MutexLock lock(update_mutex);
  RawWord result = Load(word);
  if (result.missing != 0) return result;
  const uint64_t after = change(result.value);
  result.missing = Move(word, &after, sizeof after) ? 0 : 1;
  return result;
}

}  // namespace

// Copies in parts that lie in one page on both sides, so that each is copied completely or not at
// all.
RawCopy Copy(void* to, const void* from, size_t size) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  size_t copied = 0;
  while (copied < size) {
    const size_t piece =
        std::min({size - copied, ToPageEnd(target + copied), ToPageEnd(source + copied)});
    if (!Move(target + copied, source + copied, piece)) {
      std::byte probe;
      const void* missing = Move(&probe, source + copied, 1) ? target + copied : source + copied;
      return {.copied = copied, .fault = reinterpret_cast<uintptr_t>(missing)};
    }
    copied += piece;
  }
  return {.copied = copied, .fault = 0};
}

RawWord Load(const void* word) {
  uint64_t value = 0;
  const bool moved = Move(&value, word, sizeof value);
  return {.value = value, .missing = moved ? 0u : 1u};
}

RawWord Exchange(void* word, uint64_t value) {
  return Update(word, [value](uint64_t) { return value; });
}

RawWord FetchAdd(void* word, uint64_t addend) {
  return Update(word, [addend](uint64_t before) { return before + addend; });
}

RawWord CompareAndSwap(void* word, uint64_t expected, uint64_t desired) {
  return Update(word, [=](uint64_t before) { return before == expected ? desired : before; });
}

}  // namespace verbena::memory::internal::portable
