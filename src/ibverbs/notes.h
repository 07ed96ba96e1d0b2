#pragma once

#include <string>

#include "ibverbs/log.h"
#include "ibverbs/objects.h"

namespace verbena::ibverbs {

// What the device has to say to the user, if there is something new.
inline void TellNotes(const Context& context, LogLevel level) {
  for (const std::string& note : context.handle.TakeNotes()) Log(level, note);
}

// Of memory that was to be under a budget and is not: the user has asked for it.
inline void TellOfBudget(const Context& context) {
  if (context.settings.memory_budget > 0) TellNotes(context, LogLevel::kWarning);
}

}  // namespace verbena::ibverbs
