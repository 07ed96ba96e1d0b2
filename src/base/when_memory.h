#pragma once

#include <new>

namespace verbena {

// Calls `fn`; false if it ran out of memory. For steps of threads of our own, which have no caller
// to refuse: what was to be done is left out, and the caller says why that will do.
template <class Fn>
[[nodiscard]] bool WhenMemory(Fn fn) {
  try {
    fn();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace verbena
