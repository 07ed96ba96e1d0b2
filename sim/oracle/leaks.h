#pragma once

#include <string>

#include "memory/memory_core.h"
#include "sim/findings.h"

namespace verbena::sim {

// The oracle of leaks: when the program has destroyed all its objects, the tables are empty.
inline void CheckNothingIsLeft(const memory::MemoryCore& core, Findings& findings) {
  if (core.table.live_count() != 0) {
    findings.Add("leaks", std::to_string(core.table.live_count()) + " keys are left");
  }
  if (core.domains.size() != 0 || core.consumers.size() != 0) {
    findings.Add("leaks", "a protection domain or consumer is left");
  }
  if (!core.IsConsistent()) findings.Add("leaks", "the tables of memory are not consistent");
}

}  // namespace verbena::sim
