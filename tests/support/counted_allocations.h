#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

// Counts the allocations of each thread of a program, by replacing operator new. Exactly one source
// file of the program includes this; the operators then apply to the whole program.

namespace verbena {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): operators have no object
inline thread_local size_t allocations = 0;  // of this thread, since its start

}  // namespace verbena

// The default versions of all other forms call these.
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
