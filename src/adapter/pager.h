#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "adapter/page_events.h"
#include "adapter/page_job.h"
#include "adapter/page_service.h"
#include "adapter/populate.h"
#include "adapter/presence_scan.h"
#include "base/processors.h"
#include "base/time.h"

namespace verbena::adapter {

// Brings pages of this process, on threads of its own, because that may take as long as a disk. The
// engine hands in what it must have and takes back what is done, and never waits.
//
// A long request is told when its beginning is there; what is behind is brought ahead of who goes
// on with it, behind the requests of others.
//
// A request of which the end is not to be had may still go on with its beginning: what of it is
// there is brought, one page at least, and the queue pair asks again when it gets further.
//
// It also makes the looks of the presence watch, between the requests.
//
// A thread that has just brought pages stays awake for a moment: faults come in a row, and to wake
// it takes longer than to bring a page.
//
// Bounded by its callers: a queue pair waits for three requests at most, and asks once for each
// element of what is posted to it. Thread rule: any thread.
class Pager final : public PageService {
 public:
  Pager(uint32_t threads, PopulateMethod method, std::function<void()> on_done,
        Duration presence_period = Duration::Max());
  // Waits for the jobs at hand; those not begun are dropped.
  ~Pager() override { Stop(); }
  void Stop();

  [[nodiscard]] bool Submit(const PageJob& job) override;
  void SubmitLook() override;
  [[nodiscard]] uint64_t CountResident(uint64_t address, uint64_t page_count) const override {
    return presence_.LookForPrefix(address, page_count);
  }

  // At once, on this thread.
  void Bring(PageJob& job) const;
  // Memory of regions is watched from the first page that is brought of it. To be set before the
  // first request.
  void set_events(PageEvents* events) { events_ = events; }
  [[nodiscard]] const PresenceScan& presence() const { return presence_; }

 private:
  void Work();
  void BringInTurn(PageJob job, std::unique_lock<std::mutex>& lock);
  bool must_act() const { return stops_ || !jobs_.empty() || look_is_wanted_; }
  void Linger(std::unique_lock<std::mutex>& lock);

  const PopulateMethod method_;
  const PresenceScan presence_;
  // On the only processor it would keep those away whose jobs it waits for.
  const bool lingers_ = AllowedProcessors() > 1;
  PageEvents* events_ = nullptr;
  // std::mutex, because a condition variable needs it: unknown to the analysis. Guards the
  // five that follow.
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<PageJob> jobs_;
  bool look_is_wanted_ = false;
  bool stops_ = false;
  size_t lingering_ = 0;                 // threads that are awake and have no job
  std::atomic<bool> is_called_ = false;  // must_act(), for those
  std::vector<std::thread> threads_;
};

}  // namespace verbena::adapter
