#pragma once

#include <cstdio>
#include <string>

#include "verbena/context.h"

namespace verbena::tools {

// What the adapter found on this machine that a person should know, on standard error.
inline void SayNotes(const Context& context) {
  for (const std::string& note : context.TakeNotes()) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
}

}  // namespace verbena::tools
