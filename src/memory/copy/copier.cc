#include "memory/copy/copier.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace verbena::memory {
namespace {

// Visits the spans of [offset, offset + length) of the list. `copy(at, done, size)` copies `size`
// bytes at address `at`, after `done` bytes.
template <class Copy>
CopyOutcome Walk(const SpanList& list, uint64_t offset, uint64_t length, Copy copy) {
  CHECK(offset <= list.length());
  CHECK(length <= list.length() - offset);
  uint64_t done = 0;
  for (const Span span : list) {
    if (done == length) break;
    if (offset >= span.length) {
      offset -= span.length;
      continue;
    }
    const uint64_t size = std::min(span.length - offset, length - done);
    const CopyResult moved = copy(PointerTo(span.address) + offset, done, size);
    done += moved.copied;
    if (moved.fault) return {.copied = done, .fault = moved.fault};
    offset = 0;
  }
  DCHECK(done == length);
  return {.copied = done, .fault = std::nullopt};
}

// The word, if it is aligned; an aligned word is always in one span.
Result<std::byte*, AtomicFailure> WordOf(const SpanList& list) {
  CHECK(list.length() == sizeof(uint64_t));
  const MachineAddress address = list[0].address;
  if (list.size() != 1 || address.value() % sizeof(uint64_t) != 0) {
    return Fail(AtomicFailure{AtomicFailure::Reason::kMisaligned, address});
  }
  return PointerTo(address);
}

AtomicFailure Missing(MemoryFault fault) {
  return {.reason = AtomicFailure::Reason::kMissing, .address = fault.address};
}

}  // namespace

CopyOutcome CopyIn(const SpanList& to, uint64_t offset, std::span<const std::byte> from) {
  return Walk(to, offset, from.size(), [from](std::byte* piece, uint64_t done, uint64_t size) {
    return GuardedCopy(piece, from.data() + done, size);
  });
}

CopyOutcome CopyOut(std::span<std::byte> to, const SpanList& from, uint64_t offset) {
  return Walk(from, offset, to.size(), [to](const std::byte* piece, uint64_t done, uint64_t size) {
    return GuardedCopy(to.data() + done, piece, size);
  });
}

Result<uint64_t, AtomicFailure> CompareAndSwap(const SpanList& word, uint64_t expected,
                                               uint64_t desired) {
  return WordOf(word).and_then([=](std::byte* pointer) {
    return GuardedCompareAndSwap64(pointer, expected, desired).map_error(Missing);
  });
}

Result<uint64_t, AtomicFailure> FetchAdd(const SpanList& word, uint64_t addend) {
  return WordOf(word).and_then(
      [=](std::byte* pointer) { return GuardedFetchAdd64(pointer, addend).map_error(Missing); });
}

}  // namespace verbena::memory
