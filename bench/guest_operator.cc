// An operator who has a guest swapped out and in again and again: half of the time its regions are
// out, unless it needs them. One process for all of it, because one for each request takes the
// processor from the guests that are measured.
//
//   guest_operator SOCKET GUEST TIMES_A_SECOND
//
// Ends when its standard input does, and prints how many times it has swapped a region out.

#include <poll.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "host/operator_client.h"

namespace {

using verbena::host::OperateMessage;

// False when the input has ended.
bool Pause(int milliseconds) {
  pollfd input{.fd = 0, .events = POLLIN, .revents = 0};
  return poll(&input, 1, milliseconds) == 0;
}

uint64_t Operate(const char* socket, const char* guest, OperateMessage::Kind kind) {
  return verbena::host::Operate(socket, {.kind = kind, .guest = guest}).value_or(0);
}

}  // namespace

int main(int argc, char** argv) {
  const int rate = argc == 4 ? std::atoi(argv[3]) : 0;
  if (rate < 1 || rate > 500) {
    std::fprintf(stderr, "usage: guest_operator SOCKET GUEST TIMES_A_SECOND\n");
    return 2;
  }
  const int half_period = 500 / rate;
  uint64_t taken = 0;
  do {
    taken += Operate(argv[1], argv[2], OperateMessage::Kind::kQuiesce);
    if (!Pause(half_period)) break;
    Operate(argv[1], argv[2], OperateMessage::Kind::kResume);
  } while (Pause(half_period));
  std::printf("%llu\n", static_cast<unsigned long long>(taken));
  return 0;
}
