#include "model/run.h"

#include <algorithm>
#include <cstdio>

namespace verbena::memory::model {
namespace {

constexpr uint64_t kStepsShown = 12;

}  // namespace

Report Run(Choices& choices, uint64_t steps_max, uint64_t log_from,
           const std::function<void(uint64_t)>& on_step) {
  World world(choices, log_from);
  bool agrees = true;
  while (agrees && world.steps() < steps_max && !choices.exhausted()) {
    if (on_step) on_step(world.steps());
    agrees = world.Step();
  }
  agrees = agrees && world.TearDown();
  return {agrees, world.steps(), world.difference(), world.tally()};
}

Report RunSeed(uint64_t seed, uint64_t steps_max, const std::function<void(uint64_t)>& on_step) {
  RandomChoices choices(seed);
  Report report = Run(choices, steps_max, World::kNoLog, on_step);
  if (report.agrees) return report;
  std::fprintf(stderr, "\nseed %llu, step %llu: %s\nThe last operations, numbers in hex:\n",
               static_cast<unsigned long long>(seed), static_cast<unsigned long long>(report.steps),
               report.difference.c_str());
  RandomChoices again(seed);
  Run(again, steps_max, report.steps - std::min(report.steps, kStepsShown));
  std::fprintf(stderr, "repeat with: build/bin/memory-model --seed %llu --steps %llu\n",
               static_cast<unsigned long long>(seed),
               static_cast<unsigned long long>(report.steps));
  return report;
}

}  // namespace verbena::memory::model
