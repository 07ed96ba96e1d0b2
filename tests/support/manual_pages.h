#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "odp/page_service.h"
#include "odp/populate.h"
#include "odp/residency_probe.h"

namespace verbena::adapter {

// A page service without threads: the test decides when pages come. One thread at a time.
class ManualPages final : public odp::PageService {
 public:
  ManualPages() : odp::PageService([] {}, Duration::Max()) {}

  [[nodiscard]] bool Submit(const odp::PageJob& job) override {
    if (!answers().Expect()) return false;
    waiting_.push_back(job);
    return true;
  }
  void SubmitProbe() override { CHECK(false); }  // the period is infinite
  [[nodiscard]] uint64_t CountResident(uint64_t address, uint64_t page_count) const override {
    return residency_.LookForPrefix(address, page_count);
  }

  // Jobs that are not answered yet, oldest first.
  [[nodiscard]] const std::vector<odp::PageJob>& waiting() const { return waiting_; }
  void BringOldest() {
    odp::PageJob job = Take();
    const uint64_t bytes = job.page_count * job.request.fault.page_shift.bytes();
    CHECK(Populate(job.address, bytes, job.request.fault.for_write, odp::BestPopulateMethod()));
    job.paged_in = job.page_count;
    answers().Finish(job);
  }
  void RefuseOldest() { answers().Finish(Take()); }

 private:
  odp::PageJob Take() {
    CHECK(!waiting_.empty());
    const odp::PageJob job = waiting_.front();
    waiting_.erase(waiting_.begin());
    return job;
  }

  const odp::ResidencyProbe residency_;
  std::vector<odp::PageJob> waiting_;
};

}  // namespace verbena::adapter
