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
#include "adapter/populate.h"
#include "adapter/presence_scan.h"
#include "adapter/presence_watch.h"
#include "base/processors.h"
#include "base/time.h"
#include "transport/outbox.h"

namespace verbena::adapter {

// Pages that a queue pair waits for, where they are, and, once they were asked for, how many came.
struct PageJob {
  transport::PageRequest request;
  uint64_t address = 0;  // of the first page
  uint64_t page_count = 0;
  uint64_t brought = 0;    // pages from the first on; 0 if not even that one is to be had
  bool is_mapped = false;  // they are in the tables already
  bool is_ahead = false;   // nobody waits for them yet
  Time asked_at = {};
  // The memory of its region, if that lies in one piece.
  uint64_t region_address = 0;
  uint64_t region_bytes = 0;
};

// What is left of the job when its first pages are dealt with, for whoever comes that far.
[[nodiscard]] PageJob RestAfter(const PageJob& job, uint64_t pages);

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
// element of what is posted to it. Room for the answer to a request is found when it is made, so
// that threads of the pager need no memory. Thread rule: any thread.
class Pager {
 public:
  // `on_done` is called on a pager's thread after each job, without a lock.
  Pager(uint32_t threads, PopulateMethod method, std::function<void()> on_done,
        Duration presence_period = Duration::Max());
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;
  // Waits for the jobs at hand; those not begun are dropped.
  ~Pager() { Stop(); }
  void Stop();

  // False if there is no memory for it.
  [[nodiscard]] bool Submit(const PageJob& job);
  // Somebody else does a job, and will tell by Finish. False if there is no memory for the answer.
  [[nodiscard]] bool Expect();
  // It will not do it after all.
  void Unexpect();
  // A job that somebody else has done. REQUIRES: it is expected.
  void Finish(const PageJob& job);
  // At once, on this thread.
  void Bring(PageJob& job) const;
  // Memory of regions is watched from the first page that is brought of it. To be set before the
  // first request.
  void set_events(PageEvents* events) { events_ = events; }
  // A look of the watch, which has begun.
  void SubmitLook();
  // See there who may use it.
  [[nodiscard]] PresenceWatch& watch() { return watch_; }
  [[nodiscard]] const PresenceScan& presence() const { return presence_; }

  // Cheap enough to be asked in every pass.
  [[nodiscard]] bool has_done() const { return done_count_.load(std::memory_order_acquire) > 0; }
  // Moves what is done behind the end of `out`, as far as that has room: it does not grow.
  void TakeDone(std::vector<PageJob>& out);

 private:
  void MakeRoomForAnswer();
  void Work();
  void BringInTurn(PageJob job, std::unique_lock<std::mutex>& lock);
  bool must_act() const { return stops_ || !jobs_.empty() || look_is_wanted_; }
  void Linger(std::unique_lock<std::mutex>& lock);

  const PopulateMethod method_;
  const std::function<void()> on_done_;
  const PresenceScan presence_;
  // On the only processor it would keep those away whose jobs it waits for.
  const bool lingers_ = AllowedProcessors() > 1;
  PresenceWatch watch_;
  PageEvents* events_ = nullptr;
  // std::mutex, because a condition variable needs it: unknown to the analysis. Guards the
  // seven that follow.
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<PageJob> jobs_;
  std::vector<PageJob> done_;
  size_t unanswered_ = 0;  // jobs that will be in done_
  bool look_is_wanted_ = false;
  bool stops_ = false;
  size_t lingering_ = 0;                 // threads that are awake and have no job
  std::atomic<bool> is_called_ = false;  // must_act(), for those
  std::atomic<size_t> done_count_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace verbena::adapter
