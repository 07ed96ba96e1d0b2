#pragma once

// Assertions about our own code. A failed CHECK is always a bug of ours, never a bad packet, a bad
// argument or a full table: those have error values. CHECK stays on in release builds, because a
// process that stops is better than one that writes where it should not.

#ifndef VERBENA_DCHECK
#define VERBENA_DCHECK 0
#endif

namespace verbena::internal {

// Out of line and cold, so that a CHECK costs its caller one predicted branch.
[[noreturn, gnu::cold, gnu::noinline]] void CheckFailed(const char* file, int line,
                                                        const char* function,
                                                        const char* message) noexcept;

}  // namespace verbena::internal

// Prints "file:line: function: CHECK failed: condition" and aborts unless `condition` holds. An
// expression, so that it can stand in a constexpr function.
#define CHECK(condition)                                                                          \
  (__builtin_expect(static_cast<bool>(condition), true)                                           \
       ? static_cast<void>(0)                                                                     \
       : ::verbena::internal::CheckFailed(__FILE__, __LINE__, static_cast<const char*>(__func__), \
                                          "CHECK failed: " #condition))

// For checks too costly for release. When off, the condition still has to compile, so it cannot rot
// and its variables count as used, but it is not evaluated.
#if VERBENA_DCHECK
#define DCHECK(condition) CHECK(condition)
#else
#define DCHECK(condition) static_cast<void>(false && static_cast<bool>(condition))
#endif

// Marks a place that no path of a correct program reaches, such as the end of a full switch.
#define UNREACHABLE()                                                                      \
  ::verbena::internal::CheckFailed(__FILE__, __LINE__, static_cast<const char*>(__func__), \
                                   "UNREACHABLE reached")
