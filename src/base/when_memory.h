#pragma once

#include <new>

namespace verbena {

// Calls `fn`; false if it ran out of memory. For steps of Verbena's own threads, which have no
// caller to return an error to: the step is skipped, and a comment at the call says why that is
// harmless.
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
