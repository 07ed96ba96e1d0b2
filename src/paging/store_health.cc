#include "paging/store_health.h"

#include <algorithm>

namespace verbena::paging {

std::optional<StoreReport> StoreHealth::OnWrite(WriteOutcome outcome, Time now) {
  switch (outcome) {
    case WriteOutcome::kGood:
      return is_well_ ? std::nullopt : OnGood(now);
    case WriteOutcome::kFailed:
      return OnBad(StoreReport::kFailing, now);
    case WriteOutcome::kFull:
      return OnBad(StoreReport::kFull, now);
  }
  UNREACHABLE();
}

std::optional<StoreReport> StoreHealth::OnGood(Time now) {
  ill_since_ = retry_at_ = now;
  interval_ = {};
  if (++good_in_a_row_ < kGoodInARow) return std::nullopt;
  is_well_ = true;
  return reported_ = StoreReport::kWell;
}

std::optional<StoreReport> StoreHealth::OnBad(StoreReport report, Time now) {
  good_in_a_row_ = 0;
  if (is_well_) {
    is_well_ = false;
    ill_since_ = now;
    interval_ = {};
    retry_at_ = now;
  }
  // Writes that were in flight together when the store began to fail count as one failure.
  if (now >= retry_at_) {
    interval_ = std::clamp(interval_ * 2, options_.retry_first, options_.retry_max);
    retry_at_ = now + interval_;
  }
  if (report == reported_) return std::nullopt;
  return reported_ = report;
}

void StoreHealth::OnRoom() {
  if (reported_ == StoreReport::kFull) retry_at_ = Time();
}

}  // namespace verbena::paging
