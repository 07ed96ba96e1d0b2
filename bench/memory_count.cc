// Runs one operation of the memory core CALLS times while callgrind counts instructions, which do
// not depend on the load of the machine. tools/bench.py runs it as
//
//   valgrind --tool=callgrind --collect-atstart=no memory_count CASE REGIONS CALLS

#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bench/memory_world.h"

namespace verbena::bench {
namespace {

// Keeps the compiler from dropping an unused result.
template <class T>
void Use(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

template <class Operation>
void Count(uint64_t calls, Operation operation) {
  for (uint64_t i = 0; i < calls; ++i) operation(i);  // warms up: allocations are not counted
  CALLGRIND_TOGGLE_COLLECT;
  for (uint64_t i = 0; i < calls; ++i) operation(i);
  CALLGRIND_TOGGLE_COLLECT;
}

bool Run(const char* name, uint64_t regions, uint64_t calls) {
  MemoryWorld world(regions);
  const auto is = [&](const char* wanted) { return std::strcmp(name, wanted) == 0; };
  if (is("empty")) {
    Count(calls, [&](uint64_t i) { Use(world.keys[i % world.keys.size()]); });
  } else if (is("translate")) {
    Count(calls, [&](uint64_t i) { Use(world.Hit(world.keys[i % world.keys.size()])); });
  } else if (is("translate-guest")) {
    std::vector<Key> keys;
    for (uint64_t i = 0; i < regions; ++i) keys.push_back(world.RegisterGuestPage(i));
    Count(calls, [&](uint64_t i) { Use(world.Hit(keys[i % keys.size()])); });
  } else if (is("invalidate-page")) {
    Count(calls, [&](uint64_t i) {
      const uint64_t page = MemoryWorld::kBase + (i % regions) * MemoryWorld::kStride;
      Use(world.core.InvalidateMachine(MachineAddress(page), MachineAddress(page + 4095)));
    });
  } else if (is("bind")) {
    Key window = *world.core.windows.Allocate(world.pd, WindowType::k1);
    const WindowBinding binding{.region = world.keys[0],
                                .start = KeyAddress(MemoryWorld::kOffset + 1),
                                .length = 101,
                                .rights = Access::kRemoteRead};
    Count(calls, [&](uint64_t) { window = *world.core.windows.Bind(window, binding, world.who); });
  } else {
    return false;
  }
  return true;
}

}  // namespace
}  // namespace verbena::bench

int main(int argc, char** argv) {
  if (argc != 4 || !verbena::bench::Run(argv[1], std::strtoull(argv[2], nullptr, 10),
                                        std::strtoull(argv[3], nullptr, 10))) {
    std::fprintf(stderr,
                 "usage: memory_count empty|translate|translate-guest|invalidate-page|bind REGIONS "
                 "CALLS\n");
    return 2;
  }
  return 0;
}
