#pragma once

#include <cstdint>

#include "adapter/error.h"
#include "verbena/numbers.h"

namespace verbena::verbs {

// Ends what a key names: calls end(key), which refuses a key of another life with kInvalid, with
// each of its variants. Work requests gave the entry variants of the program's choice, and only
// their completions, which the program has read, say which of them came to be. The index is its
// own until it ends, so no other entry can be met.
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
