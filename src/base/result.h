#pragma once

#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

namespace verbena {

// A value, or the reason why there is none. Declare functions that return a Result [[nodiscard]]:
// an alias cannot carry the attribute itself.
template <class T, class E>
using Result = tl::expected<T, E>;

template <class E>
using Unexpected = tl::unexpected<E>;

// `return Fail(reason);` ends a function that returns Result<anything, Reason>.
template <class E>
[[nodiscard]] constexpr Unexpected<std::decay_t<E>> Fail(E&& error) {
  return Unexpected<std::decay_t<E>>(std::forward<E>(error));
}

}  // namespace verbena
