#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace verbena::host {

// What an arena cannot do without (16 pages): no guest has a smaller minimum.
inline constexpr uint64_t kGuestMinimum = uint64_t{64} << 10;

// What the operator, or the guest within the operator's limits, says about a guest.
struct GuestLimits {
  uint64_t min = uint64_t{1} << 20;  // bytes that it can always have
  uint64_t max = UINT64_MAX;         // bytes that it never exceeds
  uint32_t weight = 100;             // its part of what is scarce

  friend bool operator==(const GuestLimits&, const GuestLimits&) = default;
};

inline constexpr uint32_t kWeightMax = 1'000'000;

// The settings of an arbiter, each with its default and its reason.
struct ArbiterOptions {
  uint64_t budget = 0;  // bytes of memory that all guests have together
  size_t guests_max = 4'096;
  size_t regions_max = 4'096;  // of one guest
  // How often shares are computed from what guests report.
  Duration period = Milliseconds(100);
  // How long a guest may take to give up memory: writing 256 MiB to a slow disk takes as long.
  Duration release_time = Seconds(5);
  // How long operations on a region may take to end once it is to be quiesced.
  Duration quiesce_time = Seconds(5);
  // A guest that used nothing for so long has its regions quiesced while others are short.
  Duration idle_quiesce = Seconds(30);
  // How long a guest counts as short of memory after a page fault.
  Duration fault_memory = Seconds(1);
  // How long the grant of a guest is kept for it after its connection ended, while it lives.
  Duration absence_time = Seconds(30);
  // The part of an idle guest's memory that is as good as free: an idle page costs 1 / (1 - tax)
  // times the weight of a used one.
  double idle_tax = 0.75;
};

}  // namespace verbena::host
