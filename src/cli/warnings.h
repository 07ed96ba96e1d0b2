#pragma once

#include <cstdio>
#include <string>

#include "verbena/context.h"

namespace verbena::cli {

// Prints the adapter's warnings about this machine on standard error.
inline void PrintWarnings(const Context& context) {
  for (const std::string& warning : context.TakeWarnings()) {
    std::fprintf(stderr, "note: %s\n", warning.c_str());
  }
}

}  // namespace verbena::cli
