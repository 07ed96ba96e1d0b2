#include "verbs/environment.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "base/log.h"
#include "base/variables.h"
#include "verbena/context.h"
#include "verbena/counters.h"

namespace verbena::verbs {
namespace {

// At exit there is no caller to report a failure to.
void PrintCounters() noexcept try {
  LogAlways("counters:\n" + ToString(Context::QueryProcess()));
} catch (const std::bad_alloc&) {
}

}  // namespace

void ApplyEnvironment() {
  WarnOfVariables();
  // Once per process. A forked child inherits both the flag and the handler.
  static std::atomic<bool> prints = false;
  if (IsOn("VERBENA_STATS") && !prints.exchange(true)) {
    if (std::atexit(PrintCounters) != 0) prints = false;
  }
}

}  // namespace verbena::verbs
