#include "wire/roce/ack_timeout.h"

#include "base/check.h"

namespace verbena::wire {

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

}  // namespace verbena::wire
