// A live queue pair, fed with packets, page answers, time and the calls of its program. The first
// bytes of an input choose the state that it begins in, the others the events.
//
// VERBENA_FUZZ_PRINTS=1 queue_pair_fuzz FILE prints each event of an input.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/queue_pair/live_qp.h"
#include "memory/copy/signal_guard.h"

namespace {

// So that a run stays short: what takes more events is found by the simulator.
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
