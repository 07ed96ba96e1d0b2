#include "wire/mad/cm_timeout.h"

#include "base/check.h"

namespace verbena::wire {

Duration DurationOf(CmTimeout timeout) {
  CHECK(timeout.value() < kCmTimeoutCodes);
  return Nanoseconds(int64_t{4096} << timeout.value());
}

CmTimeout CmTimeoutAtLeast(Duration wait) {
  uint8_t code = 0;
  while (code + 1 < kCmTimeoutCodes && DurationOf(CmTimeout(code)) < wait) ++code;
  return CmTimeout(code);
}

}  // namespace verbena::wire
