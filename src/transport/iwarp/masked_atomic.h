#pragma once

#include <cstdint>

#include "wire/iwarp/rdmap_atomic.h"

namespace verbena::transport {

// The value of a word after the atomic operation. (RFC 7306, 5.1)
[[nodiscard]] constexpr uint64_t ApplyAtomic(const wire::RdmapAtomicRequest& request,
                                             uint64_t original) {
  if (request.opcode == wire::RdmapAtomicOpcode::kCompareSwap) {
    const bool matches = ((original ^ request.compare) & request.compare_mask) == 0;
    if (!matches) return original;
    return (original & ~request.add_or_swap_mask) |
           (request.add_or_swap & request.add_or_swap_mask);
  }
  // Each set bit of the mask ends a field: its carry is lost. The bits below the ends are added
  // without a carry into them, and the ends themselves by exclusive or.
  const uint64_t ends = request.add_or_swap_mask;
  const uint64_t sum = (original & ~ends) + (request.add_or_swap & ~ends);
  return sum ^ ((original ^ request.add_or_swap) & ends);
}

// Whether it is one of the two operations of the verbs, which the processor has.
[[nodiscard]] constexpr bool IsPlain(const wire::RdmapAtomicRequest& request) {
  if (request.opcode == wire::RdmapAtomicOpcode::kFetchAdd) return request.add_or_swap_mask == 0;
  return request.add_or_swap_mask == UINT64_MAX && request.compare_mask == UINT64_MAX;
}

}  // namespace verbena::transport
