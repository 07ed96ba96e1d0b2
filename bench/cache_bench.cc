// What the registration cache costs, over a backend that does nothing: a hit by the number of
// entries and of threads, a miss, and memory that is given up again and again.
// bench/registration_cache.py prints it beside UCX's rcache.

#include <cstddef>
#include <cstdint>
#include <memory>

#include <benchmark/benchmark.h>

#include "verbena/registration_cache.h"

namespace verbena::bench {
namespace {

constexpr uint64_t kBase = uint64_t{1} << 32;
constexpr uint64_t kStride = 65'536;
constexpr uint64_t kBytes = 4'096;

class NothingBackend final : public RegistrationBackend {
 public:
  [[nodiscard]] bool follows_mappings() const override { return true; }
  [[nodiscard]] ErrorOr<CachedKeys> Register(MemoryRange /*range*/, Access /*access*/) override {
    return CachedKeys{.l_key = Key(1), .r_key = Key(1)};
  }
  void Deregister(const CachedKeys& /*keys*/) override {}
};

RegistrationCache Make(uint32_t entries) {
  CacheOptions options;
  options.entries_max = entries;
  options.bytes_max = ~uint64_t{0} >> 1;
  return RegistrationCache::Create(std::make_unique<NothingBackend>(), options).value();
}

const void* Buffer(uint64_t index) {
  return reinterpret_cast<const void*>(kBase + index * kStride);
}

// One for all threads of a run, and for the next run with the same number of entries: a million of
// them take seconds to register.
RegistrationCache the_cache;
uint64_t entries_of_the_cache = 0;

void Fill(uint64_t entries) {
  if (entries == entries_of_the_cache) return;
  entries_of_the_cache = entries;
  the_cache = Make(static_cast<uint32_t>(entries + 1));
  for (uint64_t i = 0; i < entries; ++i) {
    static_cast<void>(the_cache.Acquire(Buffer(i), kBytes, Access::kLocal));
  }
}

// The threads use ten buffers among all that are registered, or any of them.
void Hits(benchmark::State& state, bool uses_all) {
  const auto entries = static_cast<uint64_t>(state.range(0));
  uint64_t slow_before = 0;
  if (state.thread_index() == 0) {
    Fill(entries);
    slow_before = the_cache.Query().hits_slow;
  }
  const uint64_t used = uses_all ? entries : 10;
  const uint64_t step = uses_all ? 7'919 : entries / used;  // a prime: no pattern
  uint64_t i = 0;
  for (auto _ : state) {
    auto region = the_cache.Acquire(Buffer(i % entries), kBytes, Access::kLocal);
    benchmark::DoNotOptimize(region);
    i = uses_all ? (i + step) % entries : (i == 9 * step ? 0 : i + step);
  }
  if (state.thread_index() == 0) {
    state.counters["slow"] = static_cast<double>(the_cache.Query().hits_slow - slow_before);
  }
}
void Hit(benchmark::State& state) { Hits(state, false); }
void HitAnywhere(benchmark::State& state) { Hits(state, true); }
BENCHMARK(Hit)
    ->RangeMultiplier(100)
    ->Range(10, 1'000'000)
    ->Threads(1)
    ->Threads(2)
    ->Threads(4)
    ->UseRealTime();
BENCHMARK(HitAnywhere)->RangeMultiplier(100)->Range(10, 1'000'000)->UseRealTime();

// All threads have the same buffer.
void HitShared(benchmark::State& state) {
  if (state.thread_index() == 0) Fill(10);
  for (auto _ : state) {
    auto region = the_cache.Acquire(Buffer(0), kBytes, Access::kLocal);
    benchmark::DoNotOptimize(region);
  }
}
BENCHMARK(HitShared)->Threads(1)->Threads(2)->Threads(4)->UseRealTime();

// Every buffer is new, and pushes another one out.
void Miss(benchmark::State& state) {
  RegistrationCache cache = Make(1'000);
  uint64_t next = 0;
  for (auto _ : state) {
    auto region = cache.Acquire(Buffer(next++), kBytes, Access::kLocal);
    benchmark::DoNotOptimize(region);
  }
}
BENCHMARK(Miss);

// Each use finds that its memory was given up, among many entries.
void Storm(benchmark::State& state) {
  const auto entries = static_cast<uint64_t>(state.range(0));
  Fill(entries);
  for (auto _ : state) {
    the_cache.Announce(Buffer(5), kBytes);
    auto region = the_cache.Acquire(Buffer(5), kBytes, Access::kLocal);
    benchmark::DoNotOptimize(region);
  }
}
BENCHMARK(Storm)->Arg(10)->Arg(100'000);

// With a key of its own for each handle, as behind ibv_reg_mr.
void Exclusive(benchmark::State& state) {
  CacheOptions options;
  options.exclusive = true;
  auto cache = RegistrationCache::Create(std::make_unique<NothingBackend>(), options).value();
  for (auto _ : state) {
    auto region = cache.Acquire(Buffer(1), kBytes, Access::kLocal);
    benchmark::DoNotOptimize(region);
  }
}
BENCHMARK(Exclusive);

}  // namespace
}  // namespace verbena::bench
