#pragma once

#include <new>
#include <string>

#include "base/log.h"
#include "ibverbs/objects/objects.h"

namespace verbena::ibverbs {

// Logs the new warnings of the device. If memory runs out they are dropped, because the call that
// logs them has succeeded and must not fail here.
inline void LogWarnings(const Context& context, LogLevel level) noexcept try {
  for (const std::string& warning : context.handle.TakeWarnings()) Log(level, warning);
} catch (const std::bad_alloc&) {
  Log(level, "out of memory");
}

// Warns of regions that could not be put under the memory budget, if the user has set one.
inline void WarnOfBudget(const Context& context) noexcept {
  const bool has_budget = context.settings.memory_budget > 0 || !context.settings.guest.empty();
  if (has_budget) LogWarnings(context, LogLevel::kWarning);
}

}  // namespace verbena::ibverbs
