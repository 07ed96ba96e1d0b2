#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/page_events.h"
#include "base/processors.h"
#include "base/time.h"
#include "odp/page_job.h"
#include "odp/page_service.h"
#include "odp/populate.h"
#include "odp/residency_probe.h"

namespace verbena::odp {

struct PagerOptions {
  uint32_t threads = 2;            // that never end
  uint32_t threads_max = 64;       // including those that are started while others wait for pages
  Duration idle_max = Seconds(2);  // a thread above `threads` ends after it was idle for so long
  PopulateMethod method = BestPopulateMethod();
  Duration residency_scan_period = Duration::Max();
  // Called once, on a pager thread and without a lock, when all threads wait for pages and no more
  // can be started.
  std::function<void(const std::string& warning)> on_limit = {};
};

// Pages in absent pages of this process, on threads of its own, because that can take as long as a
// disk.
//
// A page-in may never end: of a file whose server is down, or under a userfaultfd of the program
// that does not answer. So the pager works around stuck threads by keeping one thread free:
//
//   the last free thread   watches the oldest job. When that job has waited for kPatience, and no
//                          job was finished meanwhile, the others are stuck: the thread starts
//                          another, which watches in its place, and takes the job
//   a thread that is free  for idle_max, and not needed, ends
//
// Prefetch jobs are queued behind all others, occupy at most PagerOptions::threads threads, and do
// not make the pager start more.
//
// A long request is answered when its first part is resident. The rest is paged in ahead of the
// queue pair that is already working on the first part.
//
// If the end of a request is not available, the pager pages in what is available, at least one
// page. The queue pair continues with that, and makes another request when it needs the rest.
//
// Between requests the pager makes the probes of the residency scan.
//
// A thread that has just paged in pages spins for a moment: faults come in a row, and a wake-up
// takes longer than paging in.
//
// Bounded by its callers: a queue pair has at most three requests outstanding, and one prefetch for
// each element of its posted work requests. Thread rule: any thread.
class Pager final : public PageService {
 public:
  // Twenty times what a part of a request takes on an idle machine, and less than the timeout of
  // any peer.
  static constexpr Duration kPatience = Milliseconds(2);

  Pager(const PagerOptions& options, std::function<void()> on_done);
  // Waits for the running jobs, and drops those that have not started.
  ~Pager() override { Stop(); }
  void Stop();

  [[nodiscard]] bool Submit(const PageJob& job) override;
  void SubmitProbe() override;
  [[nodiscard]] uint64_t CountResident(uint64_t address, uint64_t page_count) const override {
    return residency_.LookForPrefix(address, page_count);
  }

  // Does the job on the calling thread.
  void PageIn(PageJob& job) const;
  // The pager watches the memory of a region from its first page-in on. To be called before the
  // first request.
  void set_events(PageEvents* events) { events_ = events; }
  [[nodiscard]] const ResidencyProbe& presence() const { return residency_; }
  [[nodiscard]] uint32_t thread_count();

 private:
  using Lock = std::unique_lock<std::mutex>;
  enum class Task : uint8_t { kJob, kAhead, kLook, kEnd };
  struct Waiting {
    PageJob job;
    Time since;
  };
  struct Worker {
    std::thread thread;
    // no thread is running here: none was started, or it has ended and must be joined
    bool is_free = true;
  };

  // Called under the lock, except for Work. Functions with a Lock parameter release it meanwhile.
  void Work(size_t self);
  Task WaitForTask(Lock& lock);
  Task TaskAtHand() const;
  bool WaitIdly(Lock& lock);
  void Perform(Task task, Lock& lock);
  void PageInPart(PageJob job, Lock& lock);
  void StartSpare(Lock& lock);
  void StartWorker(size_t place, Lock& lock);
  size_t FreePlace();
  void SpinWait(Lock& lock);
  bool must_act() const { return stops_ || !jobs_.empty() || !ahead_.empty() || probe_is_wanted_; }
  uint32_t free_threads() const { return alive_ - busy_; }
  Time overdue_at() const { return std::max(jobs_.front().since, last_done_) + kPatience; }

  const PagerOptions options_;
  const ResidencyProbe residency_;
  // On a single processor a spinning thread would delay the threads whose jobs it waits for.
  const bool may_spin_ = AllowedProcessors() > 1;
  PageEvents* events_ = nullptr;
  // std::mutex, because a condition variable needs it; the thread-safety analysis does not know it.
  // Guards all members below.
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<Waiting> jobs_;
  std::deque<PageJob> ahead_;  // prefetches
  bool probe_is_wanted_ = false;
  bool stops_ = false;
  std::vector<Worker> workers_;  // threads_max elements
  uint32_t alive_ = 0;           // threads that run
  uint32_t busy_ = 0;            // of these, threads that have a job...
  uint32_t busy_ahead_ = 0;      // ...and whose job is a prefetch
  uint32_t starting_ = 0;        // threads that are being started and are not yet in workers_
  bool limit_was_reported_ = false;
  Time last_done_ = {};
  size_t spinning_ = 0;                  // threads that spin without a job
  std::atomic<bool> is_called_ = false;  // must_act(), for the spinning threads
};

}  // namespace verbena::odp
