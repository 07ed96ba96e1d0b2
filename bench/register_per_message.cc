// A program on libibverbs that registers its buffer for each message: it knows of no cache. Prints
// one line per size: bytes, and microseconds for registration, RDMA write, completion and
// deregistration together (the median of the rounds).
//
//   register_per_message [milliseconds per size]

#include "bench/per_message.h"

using namespace verbena::bench;

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const std::chrono::milliseconds duration(argc > 1 ? std::atoi(argv[1]) : 300);
  const Ends ends = Open(0);
  char* const from = MapMessage();
  ibv_mr* const target = ibv_reg_mr(ends.pd, MapMessage(), kMessageMax, kMessageRights);
  Need(target != nullptr, "ibv_reg_mr");
  for (size_t length = 4'096; length <= kMessageMax; length *= 4) {
    std::vector<double> rounds;
    const auto end = Clock::now() + duration;
    while (Clock::now() < end || rounds.size() < 5) {
      rounds.push_back(MicrosecondsOf([&] {
        ibv_mr* const mr = ibv_reg_mr(ends.pd, from, length, kMessageRights);
        Need(mr != nullptr, "ibv_reg_mr");
        Write(ends, from, length, mr->lkey, *target);
        Need(ibv_dereg_mr(mr) == 0, "ibv_dereg_mr");
      }));
    }
    std::printf("%zu %.2f\n", length, MedianOf(rounds));
  }
  return 0;
}
