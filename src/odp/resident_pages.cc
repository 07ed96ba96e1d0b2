#include "odp/resident_pages.h"

#include "base/page.h"
#include "odp/page_jobs.h"

namespace verbena::odp {

bool ResidentPages::Map(const memory::Fault& fault, Time now) {
  constexpr uint64_t kBytesMax = ResidencyProbe::kPagesAtOnce << PageShift::kMin;
  PageJob job = JobFor(memory_, {.qp = {}, .ticket = {}, .fault = fault}, kBytesMax);
  if (managed_ != nullptr) {
    managed_->RefuseProgramView(job);
    if (managed_->Covers(job.address)) return false;
  }
  if (IsMapped(memory_, job)) return true;
  const uint64_t length = job.page_count * fault.page_shift.bytes();
  if (length == 0 || length > kBytesMax) return false;
  const uint64_t there = pages_.CountResident(job.address, length >> PageShift::kMin);
  job.paged_in = (there << PageShift::kMin) / fault.page_shift.bytes();
  const bool is_mapped = MapPages(memory_, pages_.watch(), job, now);
  misses_ = is_mapped ? 0 : misses_ + 1;
  return is_mapped;
}

}  // namespace verbena::odp
