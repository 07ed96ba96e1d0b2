// Feeds a live queue pair with packets, page answers, time and calls of its program. The first
// bytes of an input choose the state in which the queue pair starts, the others choose the events.
//
// VERBENA_FUZZ_PRINTS=1 queue_pair_fuzz FILE prints each event of an input.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/queue_pair/live_qp.h"
#include "memory/copy/signal_guard.h"

namespace {

// Keeps a run short. The simulator finds bugs that need more events.
constexpr int kEventsMax = 64;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool prints = std::getenv("VERBENA_FUZZ_PRINTS") != nullptr;
  verbena::memory::SignalGuard::Install();
  verbena::memory::model::ByteChoices choices({data, size});
  verbena::fuzz::LiveQp live(choices, prints);
  for (int i = 0; i < kEventsMax && !choices.exhausted() && live.findings().empty(); ++i) {
    live.Step();
  }
  if (live.findings().empty()) live.Close();
  if (live.findings().empty()) return 0;
  std::fprintf(stderr, "%s\n", live.findings().text().c_str());
  std::abort();
}
