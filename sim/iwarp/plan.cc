#include "sim/iwarp/plan.h"

#include "base/random.h"
#include "sim/draw.h"

namespace verbena::sim {

IwarpPlan IwarpPlan::Draw(uint64_t seed) {
  Random random(seed);
  IwarpPlan plan{.seed = seed};
  plan.connections = static_cast<uint32_t>(1 + random.Below(4));
  plan.operations = static_cast<uint32_t>(5 + random.Below(60));
  plan.duration = UpTo(random, 2000);
  plan.max_rd_atomic = static_cast<uint8_t>(1 + random.Below(8));
  plan.depth = static_cast<uint32_t>(1 + random.Below(16));
  plan.message_max = static_cast<uint32_t>(1 + random.Below(random.Chance(1, 2) ? 8000 : 600));
  plan.stream.ulpdu_max =
      static_cast<uint16_t>(transport::kUlpduMin + random.Below(random.Chance(1, 2) ? 1400 : 6000));
  plan.send_buffer = static_cast<uint32_t>(plan.stream.ulpdu_max + 400 + random.Below(20'000));
  plan.stream.crc = random.Chance(3, 4);
  plan.stream.send_markers = plan.stream.receive_markers = random.Chance(2, 3);
  plan.stream.receive_window = static_cast<uint32_t>(7000 + random.Below(60'000));
  plan.segment_min = random.Chance(1, 2) ? plan.stream.ulpdu_max : 1;
  plan.segment_max = plan.segment_min + static_cast<uint32_t>(random.Below(9000));
  if (random.Chance(1, 8)) plan.segment_min = plan.segment_max = 1 + random.Next32() % 100;
  plan.reorders = Trouble(random, 700);
  plan.doubles = Trouble(random, 500);
  plan.shows = random.Chance(1, 3) ? static_cast<uint32_t>(random.Below(1000)) : 1000;
  plan.beyond = Trouble(random, 200);
  if (plan.stream.crc && random.Chance(1, 4)) {
    plan.corrupts = static_cast<uint32_t>(1 + random.Below(30));
  }
  if (random.Chance(1, 4)) plan.resets = static_cast<uint32_t>(random.Below(1000));
  plan.delay_max = UpTo(random, random.Chance(1, 2) ? 10 : 300);
  plan.evicts = Trouble(random, 300);
  if (random.Chance(1, 6)) plan.page_failures = static_cast<uint32_t>(random.Below(300));
  plan.page_time = UpTo(random, 200);
  if (random.Chance(1, 3)) plan.illegal = static_cast<uint32_t>(random.Below(100));
  plan.one_touch = Trouble(random, 700);
  plan.drains = Trouble(random, 100);
  if (random.Chance(1, 2)) plan.sessions = static_cast<uint32_t>(1 + random.Below(1000));
  return plan;
}

std::string IwarpPlan::ToString() const {
  std::string text;
  Line(text, "seed", seed);
  Line(text, "connections", connections);
  Line(text, "operations", operations);
  Line(text, "duration", duration);
  Line(text, "max_rd_atomic", uint64_t{max_rd_atomic});
  Line(text, "depth", depth);
  Line(text, "message_max", message_max);
  Line(text, "send_buffer", send_buffer);
  Line(text, "ulpdu_max", uint64_t{stream.ulpdu_max});
  Line(text, "sessions", sessions);
  Line(text, "crc", uint64_t{stream.crc});
  Line(text, "markers", uint64_t{stream.send_markers});
  Line(text, "receive_window", uint64_t{stream.receive_window});
  Line(text, "segment_min", segment_min);
  Line(text, "segment_max", segment_max);
  Line(text, "reorders", reorders);
  Line(text, "doubles", doubles);
  Line(text, "shows", shows);
  Line(text, "beyond", beyond);
  Line(text, "corrupts", corrupts);
  Line(text, "resets", resets);
  Line(text, "delay_max", delay_max);
  Line(text, "evicts", evicts);
  Line(text, "page_failures", page_failures);
  Line(text, "page_time", page_time);
  Line(text, "illegal", illegal);
  Line(text, "one_touch", one_touch);
  Line(text, "drains", drains);
  return text;
}

}  // namespace verbena::sim
