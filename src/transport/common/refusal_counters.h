#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/refusal.h"
#include "transport/common/verdict.h"
#include "verbena/counters.h"

namespace verbena::transport {

// The vendor_err of a completion: the letter of the check that failed, or 0.
using VendorError = uint8_t;

[[nodiscard]] constexpr VendorError VendorErrorOf(memory::Refusal refusal) {
  const char check = memory::CheckOf(refusal);
  return check == '-' ? 0 : static_cast<VendorError>(check);
}

[[nodiscard]] constexpr VendorError VendorErrorOf(NakReason reason) {
  return reason.is_refusal() ? VendorErrorOf(reason.refusal()) : 0;
}

// Counts a refusal, if counters are given. Returns the vendor error of its completion.
inline VendorError CountRefusal(NakReason reason, RefusalCounters* counters) {
  const VendorError check = VendorErrorOf(reason);
  if (check == 0 || counters == nullptr) return check;
  const auto index = static_cast<size_t>(check - kFirstCheck);
  if (reason.key() == RefusedKey::kOwn) {
    ++counters->local[index];
  } else if (index < counters->remote.size()) {
    ++counters->remote[index];
  }
  return check;
}

}  // namespace verbena::transport
