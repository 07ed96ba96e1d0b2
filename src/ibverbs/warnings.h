#pragma once

#include <new>
#include <string>

#include "ibverbs/log.h"
#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

// What the device has to say to the user, if there is something new. Without memory it is not said:
// the call that it comes with has succeeded, and must not fail by it.
inline void LogWarnings(const Context& context, LogLevel level) noexcept try {
  for (const std::string& warning : context.handle.TakeWarnings()) Log(level, warning);
} catch (const std::bad_alloc&) {
  Log(level, "out of memory");
}

// Of memory that was to be under a budget and is not: the user has asked for it.
inline void WarnOfBudget(const Context& context) noexcept {
  if (context.settings.memory_budget > 0) LogWarnings(context, LogLevel::kWarning);
}

}  // namespace verbena::ibverbs
