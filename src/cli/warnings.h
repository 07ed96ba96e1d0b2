#pragma once

#include <cstdio>
#include <string>

#include "verbena/context.h"

namespace verbena::cli {

// What the adapter found on this machine that a person should know, on standard error.
inline void PrintWarnings(const Context& context) {
  for (const std::string& warning : context.TakeWarnings()) {
    std::fprintf(stderr, "note: %s\n", warning.c_str());
  }
}

}  // namespace verbena::cli
