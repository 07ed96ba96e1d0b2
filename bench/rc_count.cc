// Runs writes over a reliable connection between two queue pairs in one process with callgrind's
// counter on: post, both machines, one copy each way, poll. See tools/bench.py.
//
//   valgrind --tool=callgrind --collect-atstart=no rc_count BYTES BATCH WRITES

#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>

#include "bench/rc_world.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: rc_count BYTES BATCH WRITES\n");
    return 2;
  }
  const auto bytes = static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const auto batch = static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10));
  const auto writes = std::strtoul(argv[3], nullptr, 10);
  verbena::bench::RcWorld world(4096);
  for (int i = 0; i < 100; ++i) world.Write(bytes, batch);
  CALLGRIND_TOGGLE_COLLECT;
  for (unsigned long i = 0; i < writes; i += batch) world.Write(bytes, batch);
  CALLGRIND_TOGGLE_COLLECT;
  return 0;
}
