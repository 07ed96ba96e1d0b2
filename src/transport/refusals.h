#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/denial.h"
#include "transport/rc/verdict.h"

namespace verbena::transport {

// How often each of the lettered checks of memory/denial.h has refused, 'a' first.
struct RefusalCounters {
  std::array<uint64_t, memory::kCheckCount> local{};         // work requests of this side
  std::array<uint64_t, memory::kRemoteCheckCount> remote{};  // requests of peers
};

// What a completion says beside its status (vendor_err): the letter of the check that failed, or 0.
using VendorError = uint8_t;

[[nodiscard]] constexpr VendorError VendorErrorOf(memory::Denial denial) {
  const char check = memory::CheckOf(denial);
  return check == '-' ? 0 : static_cast<VendorError>(check);
}

[[nodiscard]] constexpr VendorError VendorErrorOf(Cause cause) {
  return cause.is_denial() ? VendorErrorOf(cause.denial()) : 0;
}

// Counts a refusal, if counters are given. Returns the vendor error of its completion.
inline VendorError CountRefusal(Cause cause, RefusalCounters* counters) {
  const VendorError check = VendorErrorOf(cause);
  if (check == 0 || counters == nullptr) return check;
  const auto index = static_cast<size_t>(check - memory::kFirstCheck);
  if (cause.key() == DeniedKey::kOwn) {
    ++counters->local[index];
  } else if (index < counters->remote.size()) {
    ++counters->remote[index];
  }
  return check;
}

}  // namespace verbena::transport
