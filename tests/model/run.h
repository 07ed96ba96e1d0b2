#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/choices.h"
#include "model/tally.h"
#include "model/world.h"

namespace verbena::memory::model {

struct Report {
  bool agrees = true;
  uint64_t steps = 0;      // including the failing one
  std::string difference;  // how the core and the reference differ
  Tally tally;
};

// Runs `choices` for at most `steps_max` steps, and tears everything down at the end. Logs the
// steps from `log_from` on. Calls `on_step`, if given, with the number of each step before the
// step.
Report Run(Choices& choices, uint64_t steps_max, uint64_t log_from = World::kNoLog,
           const std::function<void(uint64_t)>& on_step = {});

// Runs a seed. If core and reference differ, repeats the run to print its last operations, and
// prints the command that repeats it.
Report RunSeed(uint64_t seed, uint64_t steps_max,
               const std::function<void(uint64_t)>& on_step = {});

}  // namespace verbena::memory::model
