#pragma once

#include <cstdint>

#include "adapter/error.h"
#include "verbena/numbers.h"

namespace verbena::verbs {

// Invalidates the entry of a key: calls end(key) with each variant. end() refuses a stale variant
// with kInvalid. The current variant is unknown: the program chose variants in its work requests,
// and polled the completions that report whether they took effect. The index belongs to this entry
// until it ends, so no other entry is affected.
template <class Fn>
[[nodiscard]] ErrorOr<void> EndAnyVariant(Key key, Fn end) {
  constexpr unsigned kVariants = 256;
  ErrorOr<void> ended;
  for (unsigned i = 0; i < kVariants; ++i) {
    const auto variant = static_cast<uint8_t>(key.variant().value() + i);
    ended = end(Key(key.index(), KeyVariant(variant)));
    if (ended || ended.error().code != ErrorCode::kInvalid) return ended;
  }
  return ended;
}

}  // namespace verbena::verbs
