#include "sim/paging/plan.h"

#include "base/random.h"
#include "sim/draw.h"

namespace verbena::sim {
namespace {

uint32_t Between(Random& random, uint32_t low, uint32_t high) {
  return static_cast<uint32_t>(random.Between(low, high));
}

void DrawStore(Random& random, PagingPlan& plan) {
  plan.latency_max = UpTo(random, random.Chance(1, 4) ? 20'000 : 200);
  plan.read_failures = Trouble(random, 300);
  plan.corruption = random.Chance(1, 2) ? Trouble(random, 50) : 0;
  plan.write_failures = Trouble(random, 300);
  plan.outages = random.Chance(1, 2) ? Trouble(random, 20) : 0;
  if (random.Chance(1, 3)) plan.capacity = Between(random, 0, plan.granules);
  plan.stays_full = random.Chance(1, 2) && plan.capacity < plan.granules;
}

}  // namespace

PagingPlan PagingPlan::Draw(uint64_t seed) {
  Random random(seed);
  PagingPlan plan;
  plan.seed = seed;
  plan.granules = Between(random, 24, 320);
  plan.steps = Between(random, 100, 700);
  plan.threads = Between(random, 0, 3);
  plan.queue_pairs = Between(random, plan.threads == 0 ? 1 : 0, 6);
  plan.run_max = random.Chance(1, 2) ? 1 : Between(random, 1, 40);
  plan.writing = Between(random, 0, 1000);
  plan.sequential = random.Chance(1, 2) ? Between(random, 0, 1000) : 0;
  plan.hot = Trouble(random, 950);
  plan.hints = Trouble(random, 500);
  plan.discards = Trouble(random, 100);
  plan.budgets = Trouble(random, 30);
  plan.swap_outs = Trouble(random, 50);
  // Four granules per thread must fit at once: see kMinResidency in paging/options.h.
  const uint32_t least = paging::kBudgetMin * (plan.threads < 2 ? 1 : 4);
  plan.options.budget = Between(random, least, least + plan.granules);
  plan.options.tickets_max = random.Chance(1, 8) ? Between(random, 1, 4) : 64;
  plan.options.writes_max = Between(random, 1, 8);
  plan.options.read_ahead_max = random.Chance(1, 3) ? 0 : Between(random, 1, 32);
  plan.options.read_attempts = Between(random, 1, 3);
  plan.options.min_residency = UpTo(random, 1000);
  plan.options.retry_first = UpTo(random, 500);
  plan.options.retry_max = plan.options.retry_first * 8;
  plan.options.patience = Milliseconds(20);
  DrawStore(random, plan);
  return plan;
}

std::string PagingPlan::ToString() const {
  std::string text;
  Line(text, "seed", seed);
  Line(text, "granules", granules);
  Line(text, "budget", options.budget);
  Line(text, "turns", steps);
  Line(text, "threads", threads);
  Line(text, "queue_pairs", queue_pairs);
  Line(text, "run_max", run_max);
  Line(text, "writing", writing);
  Line(text, "sequential", sequential);
  Line(text, "hot", hot);
  Line(text, "hints", hints);
  Line(text, "discards", discards);
  Line(text, "swap_outs", swap_outs);
  Line(text, "budgets", budgets);
  Line(text, "tickets_max", options.tickets_max);
  Line(text, "writes_max", options.writes_max);
  Line(text, "read_ahead_max", options.read_ahead_max);
  Line(text, "read_attempts", options.read_attempts);
  Line(text, "min_residency", options.min_residency);
  Line(text, "retry_first", options.retry_first);
  Line(text, "latency_max", latency_max);
  Line(text, "read_failures", read_failures);
  Line(text, "corruption", corruption);
  Line(text, "write_failures", write_failures);
  Line(text, "outages", outages);
  Line(text, "capacity", capacity);
  Line(text, "stays_full", stays_full ? 1 : 0);
  return text;
}

}  // namespace verbena::sim
