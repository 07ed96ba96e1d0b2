#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace verbena::internal {

void CheckFailed(const char* file, int line, const char* function, const char* message) noexcept {
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, function, message);
  std::abort();
}

}  // namespace verbena::internal
