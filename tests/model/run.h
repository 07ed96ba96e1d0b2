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
  uint64_t steps = 0;      // done, the failing one included
  std::string difference;  // what the core and the reference differ in
  Tally tally;
};

// Runs `choices` for at most `steps_max` steps, and takes everything apart at the end. `step_done`,
// if given, is told the number of each step before it is made.
Report Run(Choices& choices, uint64_t steps_max, uint64_t log_from = World::kNoLog,
           const std::function<void(uint64_t)>& on_step = {});

// The same from a seed. When the two differ, the run is repeated to print its last operations, and
// the command that repeats it.
Report RunSeed(uint64_t seed, uint64_t steps_max,
               const std::function<void(uint64_t)>& on_step = {});

}  // namespace verbena::memory::model
