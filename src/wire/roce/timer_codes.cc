#include "wire/roce/timer_codes.h"

#include <array>

#include "base/check.h"

namespace verbena::wire {
namespace {

// IBA table 45, in units of 10 microseconds. Code 0 is the longest, not the shortest.
constexpr std::array<int32_t, kRnrTimerCodes> kTensOfMicroseconds = {
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

}  // namespace

Duration DurationOf(AckTimeout timeout) {
  CHECK(timeout.value() < kAckTimeoutCodes);
  if (timeout.value() == 0) return Duration::Max();
  return Nanoseconds(int64_t{4096} << timeout.value());
}

AckTimeout AckTimeoutAtLeast(Duration wait) {
  for (uint8_t code = 1; code < kAckTimeoutCodes; ++code) {
    if (DurationOf(AckTimeout(code)) >= wait) return AckTimeout(code);
  }
  return AckTimeout(0);
}

Duration DurationOf(RnrTimer timer) {
  CHECK(timer.value() < kRnrTimerCodes);
  return Microseconds(10) * kTensOfMicroseconds[timer.value()];
}

RnrTimer RnrTimerAtLeast(Duration wait) {
  for (uint8_t code = 1; code < kRnrTimerCodes; ++code) {
    if (DurationOf(RnrTimer(code)) >= wait) return RnrTimer(code);
  }
  return RnrTimer(0);
}

}  // namespace verbena::wire
