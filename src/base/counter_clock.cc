#include "base/counter_clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include <algorithm>

namespace verbena {
namespace {

struct Reading {
  uint64_t ticks = 0;  // behind the reading of the clock: what is added to it is never too much
  Time time;
};

// The last one of this thread.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a cache
[[gnu::tls_model("initial-exec")]] constinit thread_local Reading last;

#if defined(__x86_64__)

bool HasConstantCounter() {
  constexpr unsigned kPowerManagement = 0x8000'0007;
  constexpr unsigned kInvariantTsc = 1U << 8;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(kPowerManagement, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariantTsc) != 0;
}
uint64_t Ticks() { return __rdtsc(); }

#else

bool HasConstantCounter() { return false; }
uint64_t Ticks() { return 0; }

#endif

Reading Read() {
  const Time time = SystemNow();
  return {.ticks = Ticks(), .time = time};
}

// The reading of several that the fewest other things have delayed.
Reading ReadUndisturbed() {
  constexpr int kTries = 8;
  Reading best;
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = Ticks();
    const Reading reading = Read();
    if (reading.ticks - before >= least) continue;
    least = reading.ticks - before;
    best = reading;
  }
  return best;
}

}  // namespace

// The shortest of several readings decides: other work on the machine delays single ones.
bool CounterClock::IsClockDear() {
  constexpr int kCalls = 16;
  Duration least = Duration::Max();
  Time before = SystemNow();
  for (int i = 0; i < kCalls; ++i) {
    const Time after = SystemNow();
    least = std::min(least, after - before);
    before = after;
  }
  return least > kCallMax;
}

void CounterClock::UseIfClockIsDear() {
  if (kIsOn && !is_used() && IsClockDear()) static_cast<void>(Use());
}

bool CounterClock::Use() {
  if (!HasConstantCounter()) return false;
  constexpr Duration kLong = Milliseconds(2);
  const Reading begin = ReadUndisturbed();
  while (SystemNow() - begin.time < kLong) {
  }
  const Reading end = ReadUndisturbed();
  const auto elapsed = static_cast<uint64_t>((end.time - begin.time).nanoseconds());
  const auto age = static_cast<uint64_t>(kAge.nanoseconds());
  ticks_of_age_.store(std::max<uint64_t>((end.ticks - begin.ticks) * age / elapsed, 1),
                      std::memory_order_relaxed);
  return true;
}

Time CounterClock::Now() {
  const uint64_t ticks = ticks_of_age_.load(std::memory_order_relaxed);
  // A counter that is behind that of the last reading, on another processor, is far ahead here.
  const uint64_t since = Ticks() - last.ticks;
  if (since >= ticks) {
    last = Read();
    return last.time;
  }
  const auto age = static_cast<uint64_t>(kAge.nanoseconds());
  return last.time + Nanoseconds(static_cast<int64_t>(since * age / ticks));
}

}  // namespace verbena
