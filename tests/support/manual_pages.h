#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "adapter/page_service.h"
#include "adapter/populate.h"
#include "adapter/presence_scan.h"
#include "base/check.h"

namespace verbena::adapter {

// A page service without threads, whose pages come when the test says so. One thread at a time.
class ManualPages final : public PageService {
 public:
  ManualPages() : PageService([] {}, Duration::Max()) {}

  [[nodiscard]] bool Submit(const PageJob& job) override {
    if (!answers().Expect()) return false;
    waiting_.push_back(job);
    return true;
  }
  void SubmitLook() override { CHECK(false); }  // its period has no end
  [[nodiscard]] uint64_t CountResident(uint64_t address, uint64_t page_count) const override {
    return presence_.LookForPrefix(address, page_count);
  }

  // Asked for and not answered yet, the oldest first.
  [[nodiscard]] const std::vector<PageJob>& waiting() const { return waiting_; }
  void BringOldest() {
    PageJob job = Take();
    const uint64_t bytes = job.page_count * job.request.fault.page_shift.bytes();
    CHECK(Populate(job.address, bytes, job.request.fault.for_write, BestPopulateMethod()));
    job.brought = job.page_count;
    answers().Finish(job);
  }
  void RefuseOldest() { answers().Finish(Take()); }

 private:
  PageJob Take() {
    CHECK(!waiting_.empty());
    const PageJob job = waiting_.front();
    waiting_.erase(waiting_.begin());
    return job;
  }

  const PresenceScan presence_;
  std::vector<PageJob> waiting_;
};

}  // namespace verbena::adapter
