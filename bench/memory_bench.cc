// Times of the memory core. They vary with the machine and its load; the instruction counts of
// memory_count.cc do not. tools/bench.py prints both in one table with the budgets.

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/memory_world.h"

namespace verbena::bench {
namespace {

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Google Benchmark calls each benchmark several times; a million regions are registered once.
MemoryWorld& WorldWith(int64_t regions) {
  static std::map<int64_t, MemoryWorld> worlds;
  return worlds.try_emplace(regions, static_cast<uint64_t>(regions)).first->second;
}

void TranslateHit(benchmark::State& state) {
  const MemoryWorld& world = WorldWith(state.range(0));
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(world.Hit(world.keys[i]));
    i = i + 1 < world.keys.size() ? i + 1 : 0;
  }
}
BENCHMARK(TranslateHit)->Arg(1)->Arg(1000)->Arg(1000000);

void TranslateThroughWindow(benchmark::State& state) {
  MemoryWorld world(1);
  const Key window = *world.core.windows.Allocate(world.pd, WindowType::k1);
  const WindowBinding binding{.region = world.keys[0],
                              .start = KeyAddress(MemoryWorld::kOffset + 611),
                              .length = 100,
                              .rights = Access::kRemoteWrite};
  const Key key = *world.core.windows.Bind(window, binding, world.who);
  for (auto _ : state) {
    benchmark::DoNotOptimize(world.core.translator.Translate(
        key, KeyAddress(MemoryWorld::kOffset + 620), 64, AccessKind::kRemoteWrite, world.who));
  }
}
BENCHMARK(TranslateThroughWindow);

void TranslateRefused(benchmark::State& state) {
  const MemoryWorld world(1000);
  for (auto _ : state) {
    benchmark::DoNotOptimize(world.core.translator.Translate(
        world.keys[0], KeyAddress(MemoryWorld::kOffset + MemoryWorld::kBytes), 1,
        AccessKind::kRemoteWrite, world.who));
  }
}
BENCHMARK(TranslateRefused);

void BindType1(benchmark::State& state) {
  MemoryWorld world(1000);
  Key window = *world.core.windows.Allocate(world.pd, WindowType::k1);
  WindowBinding binding{.region = world.keys[0],
                        .start = KeyAddress(MemoryWorld::kOffset + 1),
                        .length = 101,
                        .rights = Access::kRemoteRead};
  for (auto _ : state) window = *world.core.windows.Bind(window, binding, world.who);
}
BENCHMARK(BindType1);

void BindAndInvalidateType2(benchmark::State& state) {
  MemoryWorld world(1000);
  Key window = *world.core.windows.Allocate(world.pd, WindowType::k2B);
  WindowBinding binding{.region = world.keys[0],
                        .start = KeyAddress(MemoryWorld::kOffset + 1),
                        .length = 101,
                        .rights = Access::kRemoteRead};
  for (auto _ : state) {
    binding.variant = KeyVariant(static_cast<uint8_t>(window.variant().value() + 1));
    window = *world.core.windows.Bind(window, binding, world.who);
    if (!world.core.windows.Invalidate(window, world.who).has_value()) {
      state.SkipWithError("invalidate failed");
    }
  }
}
BENCHMARK(BindAndInvalidateType2);

void AllocateWindow(benchmark::State& state) {
  MemoryWorld world(1000);
  int64_t now_s = 0;
  int64_t made = 0;
  for (auto _ : state) {
    const Key window = *world.core.windows.Allocate(world.pd, WindowType::k1);
    benchmark::DoNotOptimize(world.core.windows.Deallocate(window));
    // Lets the quarantine of retired keys end, as time does in an adapter.
    if (++made % 100000 == 0) world.core.AdvanceTo(Time(Seconds(++now_s * 60)));
  }
}
BENCHMARK(AllocateWindow);

void RegisterUntouched(benchmark::State& state) {
  MemoryWorld world(1);
  const RegionSpec spec{.pd = world.pd,
                        .start = KeyAddress(kTiB),
                        .length = static_cast<uint64_t>(state.range(0)),
                        .rights = kFull};
  const uint64_t before = ResidentBytes();
  uint64_t grown = 0;
  int64_t made = 0;
  for (auto _ : state) {
    const auto keys = world.core.regions.Register(spec, LinearBacking{PhysicalAddress(kTiB)});
    benchmark::DoNotOptimize(world.core.regions.Deregister(keys->local));
    if (++made % 100000 == 0) world.core.AdvanceTo(Time(Seconds(made)));
    if (made == 1000) grown = ResidentBytes() - before;
  }
  state.counters["resident_bytes_grown"] = static_cast<double>(grown);
}
BENCHMARK(RegisterUntouched)->Arg(kGiB)->Arg(kTiB);

// Invalidates a page of one of many regions. Runs after TranslateHit, which needs the pages.
void InvalidatePage(benchmark::State& state) {
  const auto regions = static_cast<uint64_t>(state.range(0));
  MemoryWorld& world = WorldWith(state.range(0));
  uint64_t i = 0;
  for (auto _ : state) {
    const uint64_t page = MemoryWorld::kBase + (i++ % regions) * MemoryWorld::kStride;
    benchmark::DoNotOptimize(
        world.core.InvalidateMachine(MachineAddress(page), MachineAddress(page + 4095)));
  }
}
BENCHMARK(InvalidatePage)->Arg(1)->Arg(1000)->Arg(1000000);

void MemoryPerEntry(benchmark::State& state) {
  const auto regions = static_cast<uint64_t>(state.range(0));
  const auto world = std::make_unique<MemoryWorld>(0);
  const RegionSpec spec{.pd = world->pd,
                        .start = KeyAddress(MemoryWorld::kOffset),
                        .length = MemoryWorld::kBytes,
                        .rights = kFull};
  for (auto _ : state) {
    for (uint64_t i = world->core.table.live_count(); i < regions; ++i) {
      const PhysicalAddress base(MemoryWorld::kBase + i * MemoryWorld::kStride);
      CHECK(world->core.regions.Register(spec, LinearBacking{base}).has_value());
    }
  }
  state.counters["bytes_per_entry"] =
      static_cast<double>(world->TableBytes()) / static_cast<double>(regions);
}
BENCHMARK(MemoryPerEntry)->Arg(1000)->Arg(1000000)->Iterations(1);

// The size of the tables of a region, untouched and with present pages. Maps at most 16 GiB,
// because every GiB costs the same.
void MemoryOfRegion(benchmark::State& state) {
  const auto length = static_cast<uint64_t>(state.range(0));
  MemoryWorld world(0);
  const RegionSpec spec{
      .pd = world.pd, .start = KeyAddress(kTiB), .length = length, .rights = kFull};
  const auto keys = world.core.regions.Register(spec, LinearBacking{PhysicalAddress(kTiB)});
  const TranslationTable& table = *world.core.table.Find(keys->local.index())->table;
  const auto bytes = [&] {
    return static_cast<double>(world.core.translations.BytesOf(table) +
                               world.core.translations.reverse_map_bytes());
  };
  state.counters["untouched_bytes"] = bytes();
  const uint64_t pages = std::min(length, 16 * kGiB) / 4096;
  for (auto _ : state) {
    CHECK(world.core.regions.MapPages(keys->local, 0, pages, std::nullopt, true).has_value());
  }
  state.counters["bytes_per_present_page"] = bytes() / static_cast<double>(pages);
}
BENCHMARK(MemoryOfRegion)->Arg(kGiB)->Arg(kTiB)->Iterations(1);

// The same for a list of pages that are not contiguous.
void MemoryOfPageList(benchmark::State& state) {
  MemoryWorld world(0);
  std::vector<PhysicalAddress> pages;
  for (uint64_t i = 0; i < kGiB / 4096; ++i) pages.emplace_back(kTiB + 2 * i * 4096);
  const RegionSpec spec{.pd = world.pd, .start = KeyAddress(0), .length = kGiB, .rights = kFull};
  for (auto _ : state) {
    const auto keys = world.core.regions.Register(spec, PageListBacking{.pages = pages});
    const TranslationTable& table = *world.core.table.Find(keys->local.index())->table;
    const auto count = static_cast<double>(pages.size());
    state.counters["bytes_per_present_page"] =
        static_cast<double>(world.core.translations.BytesOf(table)) / count;
    state.counters["reverse_map_bytes_per_page"] =
        static_cast<double>(world.core.translations.reverse_map_bytes()) / count;
  }
}
BENCHMARK(MemoryOfPageList)->Iterations(1);

}  // namespace
}  // namespace verbena::bench
