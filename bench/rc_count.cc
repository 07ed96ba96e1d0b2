// Runs writes or reads over a reliable connection between two queue pairs in one process with
// callgrind's counter on: post, both machines, the copy onto the link and the one off it, poll. See
// tools/bench.py.
//
//   valgrind --tool=callgrind --collect-atstart=no rc_count write|read BYTES BATCH CALLS

#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/check.h"
#include "bench/rc_world.h"

namespace verbena::bench {
namespace {

bool Run(std::string_view operation, uint32_t bytes, uint32_t batch, unsigned long calls) {
  const bool writes = operation == "write";
  if (!writes && operation != "read") return false;
  if (bytes == 0 || batch == 0 || calls % batch != 0) return false;
  const auto run = writes ? &RcWorld::Write : &RcWorld::Read;
  RcWorld world(4096);
  for (int i = 0; i < 100; ++i) (world.*run)(bytes, batch);
  CALLGRIND_TOGGLE_COLLECT;
  for (unsigned long i = 0; i < calls; i += batch) (world.*run)(bytes, batch);
  CALLGRIND_TOGGLE_COLLECT;
  CHECK(world.succeeded());
  return true;
}

}  // namespace
}  // namespace verbena::bench

int main(int argc, char** argv) {
  const auto number = [&](int i) { return std::strtoul(argv[i], nullptr, 10); };
  if (argc != 5 || !verbena::bench::Run(argv[1], static_cast<uint32_t>(number(2)),
                                        static_cast<uint32_t>(number(3)), number(4))) {
    std::fprintf(stderr,
                 "usage: rc_count write|read BYTES BATCH CALLS, a multiple of BATCH calls\n");
    return 2;
  }
  return 0;
}
