#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "bench/fault_bare_pager.h"
#include "bench/fault_memory.h"
#include "bench/fault_world.h"
#include "bench/steady_writer.h"

// The effect of a queue pair that faults continuously on another one of the same two devices.

namespace verbena::bench {

// The memory that the faulting queue pair writes to, and the order of its writes.
class Victims {
 public:
  Victims() = default;
  Victims(const Victims&) = delete;
  Victims& operator=(const Victims&) = delete;
  virtual ~Victims() = default;

  [[nodiscard]] virtual std::span<std::byte> bytes() const = 0;
  virtual uint64_t NextOffset() = 0;
};

// Pages on a simulated disk: each page is written once, and each needs a seek.
class DiskVictims final : public Victims {
 public:
  static constexpr auto kDelay = std::chrono::milliseconds(4);

  [[nodiscard]] std::span<std::byte> bytes() const override { return pages_.bytes(); }
  uint64_t NextOffset() override {
    const uint64_t offset = next_;
    next_ = (next_ + kPage) % kBytes;
    return offset;
  }

 private:
  static constexpr size_t kBytes = size_t{64} << 20;

  const FreshPages pages_{kBytes};
  const SlowStorage storage_{pages_.bytes(), kDelay};
  uint64_t next_ = 0;
};

// Managed memory of 64 times its budget: nearly every write finds its page swapped out, and evicts
// another one.
class ManagedVictims final : public Victims {
 public:
  explicit ManagedVictims(const Context& context)
      : memory_(MakeManaged(context, {.size = kBytes, .budget = kBytes / 64, .compress = false})) {}

  [[nodiscard]] std::span<std::byte> bytes() const override { return memory_.bytes(); }
  uint64_t NextOffset() override { return random_.Below(kBytes / kPage) * kPage; }

 private:
  static constexpr size_t kBytes = size_t{64} << 20;

  Random random_{1};
  const ManagedMemory memory_;
};

// A steady writer, and another queue pair of the same devices that has one write in flight at a
// time.
class Neighbours {
 public:
  using Duration = std::chrono::nanoseconds;

  Neighbours() { Populate(here_.bytes(), true); }

  [[nodiscard]] const Context& far_context() const { return world_.far().context; }

  [[nodiscard]] Window MeasureAlone(Duration duration) {
    return Measure(duration, [](bool) { return false; });
  }

  // The other queue pair faults continuously.
  [[nodiscard]] Window MeasureWith(Duration duration, Victims& victims) {
    if (!victims_) victims_ = world_.far().Register(victims.bytes());
    return Measure(duration, [&](bool is_free) {
      if (is_free) PostOther(victims_.Remote(victims.NextOffset()));
      return is_free;
    });
  }

  // The other queue pair does as many writes, but to resident memory. This is the effect of its
  // processor time alone; with `pager`, also that of the system calls of as many faults.
  [[nodiscard]] Window MeasureBeside(Duration duration, uint64_t writes,
                                     const BarePager* pager = nullptr) {
    const Duration period = duration / static_cast<int64_t>(writes + 1);
    auto due = Clock::now();
    return Measure(duration, [&](bool is_free) {
      if (!is_free || Clock::now() < due) return false;
      due += period;
      if (pager != nullptr) pager->ReplaceOne();
      PostOther(there_.Remote());
      return true;
    });
  }

 private:
  static constexpr uint64_t kOther = SteadyWriter::kDepth;

  // Each round calls `post_other` with whether the other queue pair has nothing in flight. It
  // returns whether it posted a write.
  Window Measure(Duration duration, const auto& post_other) {
    bool other_is_free = true;
    uint64_t others = 0;
    Window window = writer_.Measure(
        duration,
        [&] {
          if (post_other(other_is_free)) other_is_free = false;
        },
        [&](const Completion& completion) {
          MustSucceed(completion);
          other_is_free = true;
          ++others;
        });
    if (window.is_lost) Fail("the measured connection was lost");
    if (!other_is_free) world_.WaitFor(1);
    window.others = others;
    return window;
  }

  void PostOther(const RemoteAddress& to) {
    Must(other_.near.Post(Write{.id = WrId{kOther}, .data = from_.Local(0, kPage), .remote = to}));
  }

  World world_;
  SteadyWriter writer_{world_};
  const Connection other_ = world_.Connect();
  const FreshPages here_{2 * kPage};
  const MemoryRegion from_ = world_.near().Register(here_.bytes().first(kPage));
  const MemoryRegion there_ = world_.far().Register(here_.bytes().last(kPage));
  MemoryRegion victims_;
};

// Alternates the measurements, so that background load affects all of them.
inline nlohmann::json MeasureIsolation(Neighbours& neighbours, Victims& victims,
                                       const BarePager* pager = nullptr) {
  constexpr auto kWindow = std::chrono::milliseconds(200);
  constexpr int kRepetitions = 15;
  nlohmann::json found = {{"seconds", std::chrono::duration<double>(kWindow).count()}};
  const auto note = [&](const char* name, const Window& window) {
    found[name]["writes_per_second"].push_back(window.writes_per_second);
    found[name]["p99_us"].push_back(window.p99_us);
    found[name]["others"].push_back(window.others);
  };
  static_cast<void>(neighbours.MeasureAlone(kWindow));
  for (int i = 0; i < kRepetitions; ++i) {
    note("alone", neighbours.MeasureAlone(kWindow));
    const Window faulting = neighbours.MeasureWith(kWindow, victims);
    note("faulting", faulting);
    note("beside", neighbours.MeasureBeside(kWindow, faulting.others));
    if (pager != nullptr) {
      note("bare", neighbours.MeasureBeside(kWindow, faulting.others, pager));
    }
  }
  return found;
}

inline nlohmann::json MeasureIsolation() {
  nlohmann::json found;
  if (SlowStorage::IsAllowed()) {
    DiskVictims victims;
    Neighbours neighbours;
    found["disk"] = MeasureIsolation(neighbours, victims);
  }
  Neighbours neighbours;
  ManagedVictims victims(neighbours.far_context());
  const BarePager pager;
  found["managed"] = MeasureIsolation(neighbours, victims, &pager);
  return found;
}

}  // namespace verbena::bench
