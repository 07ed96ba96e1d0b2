#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

// Counts what each thread of a program allocates, by operators of our own. One source file of the
// program includes it, and then it is so for the whole program.

namespace verbena {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): operators have no object
inline thread_local size_t allocations = 0;  // by this thread, ever

}  // namespace verbena

// The forms that are not here call these.
// NOLINTBEGIN(misc-definitions-in-headers): see above
void* operator new(size_t size) {
  ++verbena::allocations;
  if (void* const memory = std::malloc(size)) return memory;
  std::abort();
}
void* operator new[](size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
// NOLINTEND(misc-definitions-in-headers)
