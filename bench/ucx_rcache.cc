// UCX's registration cache under the same load as cache_bench.cc, by its own interface (libucs),
// over operations that do nothing. The memory hooks are on, as in a program on UCX; with
// "UCX_MEM_EVENTS=n" in the environment they are off.

#include <sys/mman.h>
#include <ucm/api/ucm.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <benchmark/benchmark.h>

extern "C" {  // its headers do not say so
#include <ucs/memory/rcache.h>
}

namespace {

constexpr size_t kStride = 65'536;
constexpr size_t kBytes = 4'096;

ucs_status_t Register(void* /*context*/, ucs_rcache_t* /*rcache*/, void* /*argument*/,
                      ucs_rcache_region_t* /*region*/, uint16_t /*flags*/) {
  return UCS_OK;
}
void Deregister(void* /*context*/, ucs_rcache_t* /*rcache*/, ucs_rcache_region_t* /*region*/) {}
void Dump(void* /*context*/, ucs_rcache_t* /*rcache*/, ucs_rcache_region_t* /*region*/, char* text,
          size_t room) {
  if (room > 0) *text = '\0';
}

ucs_rcache_t* rcache = nullptr;
char* memory = nullptr;

void Use(size_t index) {
  ucs_rcache_region_t* region = nullptr;
  if (ucs_rcache_get(rcache, memory + index * kStride, kBytes, PROT_READ | PROT_WRITE, nullptr,
                     &region) != UCS_OK) {
    std::abort();
  }
  benchmark::DoNotOptimize(region);
  ucs_rcache_region_put(rcache, region);
}

void Fill(size_t entries, size_t entries_max = ~size_t{0}) {
  static const ucs_rcache_ops_t kOperations = {Register, Deregister, Dump};
  ucs_rcache_params_t parameters{};
  parameters.region_struct_size = sizeof(ucs_rcache_region_t);
  parameters.alignment = 4'096;
  parameters.max_alignment = 4'096;
  parameters.ucm_events = UCM_EVENT_VM_UNMAPPED;
  parameters.ucm_event_priority = 1'000;
  parameters.ops = &kOperations;
  parameters.max_regions = entries_max;
  parameters.max_size = ~size_t{0};
  parameters.max_unreleased = ~size_t{0};
  if (ucs_rcache_create(&parameters, "bench", nullptr, &rcache) != UCS_OK) std::abort();
  memory = static_cast<char*>(mmap(nullptr, entries * kStride, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (memory == MAP_FAILED) std::abort();
  for (size_t i = 0; i < entries; ++i) Use(i);
}
void Empty(size_t entries) {
  ucs_rcache_destroy(rcache);
  munmap(memory, entries * kStride);
}

void Hit(benchmark::State& state) {
  const auto entries = static_cast<size_t>(state.range(0));
  if (state.thread_index() == 0) Fill(entries);
  size_t i = 0;
  for (auto _ : state) {
    Use(i * (entries / 10));
    i = i == 9 ? 0 : i + 1;
  }
  if (state.thread_index() == 0) Empty(entries);
}
BENCHMARK(Hit)
    ->RangeMultiplier(100)
    ->Range(10, 1'000'000)
    ->Threads(1)
    ->Threads(2)
    ->Threads(4)
    ->UseRealTime();

// Every buffer is new, and pushes another one out.
void Miss(benchmark::State& state) {
  constexpr size_t kBuffers = 100'000;
  Fill(kBuffers, 1'000);
  size_t next = 0;
  for (auto _ : state) {
    Use(next);
    next = next + 1 == kBuffers ? 0 : next + 1;
  }
  Empty(kBuffers);
}
BENCHMARK(Miss);

// Each use finds that its memory was given up, among many entries.
void Storm(benchmark::State& state) {
  const auto entries = static_cast<size_t>(state.range(0));
  Fill(entries);
  for (auto _ : state) {
    ucs_rcache_region_t* region = nullptr;
    if (ucs_rcache_get(rcache, memory + 5 * kStride, kBytes, PROT_READ | PROT_WRITE, nullptr,
                       &region) != UCS_OK) {
      std::abort();
    }
    ucs_rcache_region_invalidate(
        rcache, region, [](void* /*argument*/) {}, nullptr);
    ucs_rcache_region_put(rcache, region);
  }
  Empty(entries);
}
BENCHMARK(Storm)->Arg(10)->Arg(100'000);

}  // namespace

BENCHMARK_MAIN();
