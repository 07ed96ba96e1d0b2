#pragma once

#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/time.h"
#include "paging/action.h"
#include "paging/options.h"
#include "paging/outcome.h"

namespace verbena::paging {

// Whether the store takes what it is given, and when to try again if not. Well until a write fails;
// then one write at a time, at growing intervals; and well again after some good ones in a row, so
// that a store that takes one granule in ten is not reported ten times.
//
// Owned by the ResidentSet; one thread at a time.
class StoreHealth {
 public:
  explicit StoreHealth(const Options& options) : options_(options) {}

  // A write has ended. What the operator should hear, if anything.
  [[nodiscard]] std::optional<StoreReport> OnWrite(WriteOutcome outcome, Time now);
  // The store has got room: if it was full, it may be tried at once.
  void OnRoom();

  // Whether one more may be started while `under_way` are.
  [[nodiscard]] bool MayWrite(uint32_t under_way, Time now) const {
    return is_well_ || (under_way == 0 && now >= retry_at_);
  }
  // Without a good write for so long that no request should wait for one.
  [[nodiscard]] bool IsHopeless(Time now) const { return now >= hopeless_at(); }

  [[nodiscard]] bool is_well() const { return is_well_; }
  // When things change although nothing happens; Never while the store is well.
  [[nodiscard]] Time retry_at() const { return is_well_ ? Time::Never() : retry_at_; }
  [[nodiscard]] Time hopeless_at() const {
    return is_well_ || good_in_a_row_ > 0 ? Time::Never() : ill_since_ + options_.patience;
  }

 private:
  static constexpr uint32_t kGoodInARow = 4;

  [[nodiscard]] std::optional<StoreReport> OnGood(Time now);
  [[nodiscard]] std::optional<StoreReport> OnBad(StoreReport report, Time now);

  const Options options_;
  bool is_well_ = true;
  StoreReport reported_ = StoreReport::kWell;
  uint32_t good_in_a_row_ = 0;
  Duration interval_{};
  Time retry_at_{};
  Time ill_since_{};  // or since the last good write
};

}  // namespace verbena::paging
