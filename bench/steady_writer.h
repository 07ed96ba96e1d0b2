#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "bench/fault_memory.h"
#include "bench/fault_world.h"
#include "cli/latencies.h"

namespace verbena::bench {

// The results of a steady writer in a time window.
struct Window {
  double writes_per_second = 0;
  double p99_us = 0;
  double longest_us = 0;
  bool is_lost = false;  // a write failed, which ended the connection
  uint64_t others = 0;   // writes of other queue pairs
};

// The queue pair whose speed is measured next to others: it writes to present memory, with a
// constant number of outstanding writes.
class SteadyWriter {
 public:
  static constexpr size_t kDepth = 8;  // outstanding writes; their ids are 0 to kDepth - 1

  explicit SteadyWriter(World& world) : world_(world) {
    Populate(here_.bytes(), true);
    Populate(there_.bytes(), true);
  }

  // Calls `on_poll` in each iteration, and `on_other` with each completion of others. A failed
  // write ends the window.
  [[nodiscard]] Window Measure(std::chrono::nanoseconds duration, auto on_poll, auto on_other) {
    cli::Latencies latencies;
    Window window;
    size_t under_way = 0;
    const auto begin = Clock::now();
    auto now = begin;
    for (uint64_t slot = 0; slot < kDepth; ++slot, ++under_way) Post(slot);
    for (; under_way > 0 && !window.is_lost; now = Clock::now()) {
      const bool goes_on = now - begin < duration;
      if (goes_on) on_poll();
      for (const Completion& one : world_.PollAny()) {
        if (one.id.value() >= kDepth) {
          on_other(one);
          continue;
        }
        window.is_lost |= !one.ok();
        latencies.Add((Clock::now() - posted_[one.id.value()]).count());
        if (goes_on && one.ok()) {
          Post(one.id.value());
        } else {
          --under_way;
        }
      }
    }
    window.writes_per_second =
        static_cast<double>(latencies.count()) / std::chrono::duration<double>(now - begin).count();
    window.p99_us = latencies.WithinUs(0.99);
    window.longest_us = latencies.WithinUs(1);
    return window;
  }

  [[nodiscard]] uint64_t timeouts() const { return Must(qps_.near.Query()).counters.timeouts; }

 private:
  void Post(uint64_t slot) {
    posted_[slot] = Clock::now();
    Must(qps_.near.Post(Write{.id = WrId{slot},
                              .data = from_.Local(slot * kPage, kPage),
                              .remote = to_.Remote(slot * kPage)}));
  }

  World& world_;
  const Connection qps_ = world_.Connect();
  const FreshPages here_{kDepth * kPage}, there_{kDepth * kPage};
  const MemoryRegion from_ = world_.near().Register(here_.bytes());
  const MemoryRegion to_ = world_.far().Register(there_.bytes());
  std::array<Clock::time_point, kDepth> posted_;
};

}  // namespace verbena::bench
