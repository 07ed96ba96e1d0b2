#pragma once

#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/time.h"
#include "paging/action.h"
#include "paging/options.h"
#include "paging/outcome.h"

namespace verbena::paging {

// Whether the store takes writes, and when to retry if not. The store is well until a write fails.
// Then there is one write at a time, with back-off, until several in a row have succeeded, so that
// a store that takes one granule in ten is not reported ten times.
//
// Owned by the ResidentSet; one thread at a time.
class StoreHealth {
 public:
  explicit StoreHealth(const ResidentSetOptions& options) : options_(options) {}

  // A write has ended. Returns the report for the operator, if there is one.
  [[nodiscard]] std::optional<StoreReport> OnWrite(WriteOutcome outcome, Time now);
  // The store has room again: if it was full, the next write can start at once.
  void OnRoom();

  // Whether one more write can start while `under_way` are in flight.
  [[nodiscard]] bool MayWrite(uint32_t under_way, Time now) const {
    return is_well_ || (under_way == 0 && now >= retry_at_);
  }
  // True if no write has succeeded for so long that no request should wait for one.
  [[nodiscard]] bool IsHopeless(Time now) const { return now >= hopeless_at(); }

  [[nodiscard]] bool is_well() const { return is_well_; }
  // When MayWrite (retry_at) and IsHopeless (hopeless_at) change by themselves; Never while the
  // store is well.
  [[nodiscard]] Time retry_at() const { return is_well_ ? Time::Never() : retry_at_; }
  [[nodiscard]] Time hopeless_at() const {
    return is_well_ || good_in_a_row_ > 0 ? Time::Never() : ill_since_ + options_.patience;
  }

 private:
  static constexpr uint32_t kGoodInARow = 4;

  [[nodiscard]] std::optional<StoreReport> OnGood(Time now);
  [[nodiscard]] std::optional<StoreReport> OnBad(StoreReport report, Time now);

  const ResidentSetOptions options_;
  bool is_well_ = true;
  StoreReport reported_ = StoreReport::kWell;
  uint32_t good_in_a_row_ = 0;
  Duration interval_{};
  Time retry_at_{};
  Time ill_since_{};  // since the first failure or the last good write
};

}  // namespace verbena::paging
