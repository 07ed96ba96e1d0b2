#include "sim/cm/plan.h"

#include "base/random.h"
#include "sim/draw.h"
#include "wire/mad/cm_timeout.h"

namespace verbena::sim {

CmPlan CmPlan::Draw(uint64_t seed) {
  Random random(seed);
  CmPlan plan{.seed = seed};
  plan.nodes = static_cast<uint32_t>(random.Between(2, 4));
  plan.conversations = static_cast<uint32_t>(1 + random.Below(random.Chance(1, 4) ? 100 : 20));
  plan.duration = UpTo(random, 500'000);
  plan.sidr = Trouble(random, 500);
  plan.loss = Trouble(random, 500);
  plan.doubles = Trouble(random, 500);
  plan.mangled = Trouble(random, 300);
  plan.delay_max = UpTo(random, random.Chance(1, 2) ? 100 : 20'000);
  plan.response_timeout = static_cast<uint8_t>(random.Between(4, 13));
  plan.retries = static_cast<uint8_t>(random.Below(8));
  plan.rejects = Trouble(random, 500);
  plan.mras = Trouble(random, 500);
  plan.ignores = Trouble(random, 200);
  plan.destroys = Trouble(random, 300);
  plan.notifies = Trouble(random, 300);
  plan.think_max = UpTo(random, random.Chance(1, 2) ? 100 : 100'000);
  if (random.Chance(1, 4)) plan.crashes = static_cast<uint32_t>(1 + random.Below(3));
  plan.backlog = random.Chance(1, 4) ? 1 + random.Below(4) : 1000;
  plan.options.packet_life = plan.delay_max;
  plan.options.time_wait = 2 * plan.delay_max + UpTo(random, 10'000);
  plan.options.half_open_max = random.Chance(1, 4) ? 1 + random.Below(4) : 1000;
  plan.options.connections_max = random.Chance(1, 8) ? 4 + random.Below(16) : 1000;
  plan.options.sidr_patience =
      (wire::DurationOf(wire::CmTimeout(plan.response_timeout)) + 2 * plan.delay_max) *
      (plan.retries + 2);
  return plan;
}

std::string CmPlan::ToString() const {
  std::string text;
  Line(text, "seed", seed);
  Line(text, "nodes", nodes);
  Line(text, "conversations", conversations);
  Line(text, "duration", duration);
  Line(text, "sidr", sidr);
  Line(text, "loss", loss);
  Line(text, "doubles", doubles);
  Line(text, "mangled", mangled);
  Line(text, "delay_max", delay_max);
  Line(text, "response_timeout", uint64_t{response_timeout});
  Line(text, "retries", uint64_t{retries});
  Line(text, "rejects", rejects);
  Line(text, "mras", mras);
  Line(text, "ignores", ignores);
  Line(text, "destroys", destroys);
  Line(text, "notifies", notifies);
  Line(text, "think_max", think_max);
  Line(text, "crashes", crashes);
  Line(text, "backlog", backlog);
  Line(text, "time_wait", options.time_wait);
  Line(text, "half_open_max", options.half_open_max);
  Line(text, "connections_max", options.connections_max);
  return text;
}

}  // namespace verbena::sim
