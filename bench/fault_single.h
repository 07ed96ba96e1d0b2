#pragma once

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include <nlohmann/json.hpp>

#include "bench/fault_memory.h"
#include "bench/fault_world.h"
#include "cli/latencies.h"

// Single faults, single messages, and the cost of on-demand paging without faults.

namespace verbena::bench {

using cli::Latencies;

// A userfaultfd round trip without an adapter: one thread touches a page, another serves the fault.
inline nlohmann::json MeasureUserfaults(size_t pages) {
  if (!SlowStorage::IsAllowed()) return {};
  const FreshPages memory(pages * kPage);
  const SlowStorage server(memory.bytes(), std::chrono::nanoseconds(0));
  Latencies times;
  for (size_t at = 0; at < memory.bytes().size(); at += kPage) {
    times.Add(TimeOf([&] { memory.bytes()[at] = std::byte{1}; }));
  }
  return times.ToJson();
}

// Remote writes of 4 KiB to absent pages, in sequence and with pauses, and the parts of their cost.
inline nlohmann::json MeasureMinorFaults() {
  constexpr size_t kPages = 4'000, kLone = 500;
  constexpr auto kPause = std::chrono::milliseconds(1);
  World world;
  const Connection connection = world.Connect();
  const FreshPages source(kPage), target((kPages + kLone) * kPage), bare(kPages * kPage);
  std::memset(source.bytes().data(), 1, kPage);
  const MemoryRegion from = world.near().Register(source.bytes());
  const MemoryRegion to = world.far().Register(target.bytes());
  const auto write_to = [&](size_t page) {
    return Write{.data = from.Local(0, kPage), .remote = to.Remote(page * kPage)};
  };
  Latencies populate, cold, warm, lone;
  for (size_t i = 0; i < kPages; ++i) {
    const auto page = bare.bytes().subspan(i * kPage, kPage);
    populate.Add(TimeOf([&] { Populate(page, true); }));
    cold.Add(world.RoundTrip(connection, write_to(i)));
    warm.Add(world.RoundTrip(connection, write_to(i)));
  }
  for (size_t i = 0; i < kLone; ++i) {
    world.PollFor(kPause);
    lone.Add(world.RoundTrip(connection, write_to(kPages + i)));
  }
  const auto counters = Must(connection.near.Query()).counters;
  return {{"populate_us", populate.ToJson()},
          {"cold_us", cold.ToJson()},
          {"lone_us", lone.ToJson()},
          {"warm_us", warm.ToJson()},
          {"userfault_us", MeasureUserfaults(kPages)},
          {"timeouts", counters.timeouts}};
}

// A message of 4 MiB to memory without present pages.
inline nlohmann::json MeasureColdMessages() {
  constexpr uint32_t kMessage = 4U << 20;
  constexpr int kRepetitions = 40;
  World world;
  const Connection connection = world.Connect();
  const FreshPages source(kMessage);
  std::memset(source.bytes().data(), 1, kMessage);
  const MemoryRegion from = world.near().Register(source.bytes());
  Latencies populate, cold, warm;
  for (int i = 0; i <= kRepetitions; ++i) {
    const FreshPages target(kMessage), bare(kMessage);
    const MemoryRegion to = world.far().Register(target.bytes());
    const Write write{.data = from.Local(0, kMessage), .remote = to.Remote()};
    const int64_t populate_ns = TimeOf([&] { Populate(bare.bytes(), true); });
    const int64_t cold_ns = world.RoundTrip(connection, write);
    const int64_t warm_ns = world.RoundTrip(connection, write);
    if (i == 0) continue;  // the pages of the source were absent in the first run
    populate.Add(populate_ns);
    cold.Add(cold_ns);
    warm.Add(warm_ns);
  }
  const auto counters = Must(connection.near.Query()).counters;
  return {{"populate_us", populate.ToJson()},
          {"cold_us", cold.ToJson()},
          {"warm_us", warm.ToJson()},
          {"timeouts", counters.timeouts}};
}

// Writes of 4 KiB, with kDepth of them always in flight, in time windows of equal length.
class Stream {
 public:
  static constexpr size_t kDepth = 8, kPages = 64;

  explicit Stream(const Options& options = {}) : world_(options) {
    std::memset(source_.bytes().data(), 1, source_.bytes().size());
    std::memset(target_.bytes().data(), 1, target_.bytes().size());
  }

  [[nodiscard]] double WritesPerSecond(std::chrono::nanoseconds duration) {
    size_t done = 0;
    for (size_t i = 0; i < kDepth; ++i) Post();
    const auto begin = Clock::now();
    auto now = begin;
    for (; now - begin < duration; now = Clock::now()) {
      const size_t count = world_.Poll().size();
      for (size_t i = 0; i < count; ++i) Post();
      done += count;
    }
    world_.WaitFor(kDepth);
    return static_cast<double>(done) / std::chrono::duration<double>(now - begin).count();
  }

 private:
  void Post() {
    const uint64_t offset = next_++ % kPages * kPage;
    Must(connection_.near.Post(
        Write{.data = from_.Local(offset, kPage), .remote = to_.Remote(offset)}));
  }

  World world_;
  const Connection connection_ = world_.Connect();
  const FreshPages source_{kPages * kPage}, target_{kPages * kPage};
  const MemoryRegion from_ = world_.near().Register(source_.bytes());
  const MemoryRegion to_ = world_.far().Register(target_.bytes());
  uint64_t next_ = 0;
};

// The same writes to pinned and to unpinned memory, alternating.
inline nlohmann::json MeasureWarmCost() {
  constexpr auto kWindow = std::chrono::milliseconds(100);
  constexpr int kRepetitions = 30;
  Options pinned;
  pinned.pin = true;
  Stream with_pin(pinned), without;
  nlohmann::json rates = {{"pinned", nlohmann::json::array()},
                          {"unpinned", nlohmann::json::array()}};
  for (int i = 0; i <= kRepetitions; ++i) {
    const double pinned_rate = with_pin.WritesPerSecond(kWindow);
    const double rate = without.WritesPerSecond(kWindow);
    if (i == 0) continue;
    rates["pinned"].push_back(pinned_rate);
    rates["unpinned"].push_back(rate);
  }
  return rates;
}

// The value of a line of /proc/self/status, in KiB.
inline int64_t StatusKib(const std::string& name) {
  int64_t value = -1;
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  std::array<char, 256> line;
  while (file != nullptr && std::fgets(line.data(), line.size(), file) != nullptr) {
    if (name.compare(0, name.size(), line.data(), name.size()) == 0) {
      value = std::strtol(line.data() + name.size() + 1, nullptr, 10);
    }
  }
  if (file != nullptr) std::fclose(file);
  return value;
}

// The cost of registering and of locking 1 GiB of untouched memory.
inline nlohmann::json MeasureRegistration() {
  constexpr size_t kBytes = size_t{1} << 30;
  const End end{Options{}};
  const FreshPages buffer(kBytes);
  nlohmann::json found;
  const auto note = [&](const std::string& when) {
    found["resident_kib_" + when] = StatusKib("VmRSS");
    found["locked_kib_" + when] = StatusKib("VmLck");
  };
  note("before");
  const auto begin = Clock::now();
  const MemoryRegion region = end.Register(buffer.bytes());
  found["register_us"] = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  note("registered");
  bool locked = false;
  const int64_t lock_ns =
      TimeOf([&] { locked = mlock(buffer.bytes().data(), buffer.bytes().size()) == 0; });
  if (locked) found["mlock_us"] = static_cast<double>(lock_ns) / 1e3;
  note("locked");
  return found;
}

}  // namespace verbena::bench
