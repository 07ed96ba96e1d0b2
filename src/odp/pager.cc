#include "odp/pager.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/quiet_thread.h"
#include "base/rollback.h"
#include "base/when_memory.h"

namespace verbena::odp {
namespace {

// About as long as a wake-up takes, so that spinning costs at most twice the optimum. The thread
// does not yield while it spins: on a busy machine it would lose the processor for milliseconds,
// and no job wakes a thread that counts as awake.
constexpr Duration kSpin = Microseconds(50);

// Paging in this much takes about as long as sending it, and both take much longer than a request.
constexpr uint64_t kBytesAtOnce = 256 << 10;

std::chrono::nanoseconds ChronoOf(Duration duration) {
  return std::chrono::nanoseconds(std::max<int64_t>(0, duration.nanoseconds()));
}

std::string LimitWarning(uint32_t threads, bool is_refused) {
  const std::string all = "all " + std::to_string(threads) + " pager threads wait for pages";
  if (is_refused) return all + ", and the system refuses to start another: other pages wait";
  return all + ": other pages wait for one of them; raise pager_threads_max";
}

}  // namespace

Pager::Pager(const PagerOptions& options, std::function<void()> on_done)
    : PageService(std::move(on_done), options.residency_scan_period), options_(options) {
  CHECK(options.threads > 0 && options.threads <= options.threads_max);
  workers_.resize(options.threads_max);
  Rollback started([this] { Stop(); });
  Lock lock(mutex_);
  for (uint32_t i = 0; i < options.threads; ++i) StartWorker(i, lock);
  lock.unlock();
  started.Keep();
}

void Pager::Stop() {
  {
    Lock lock(mutex_);
    stops_ = true;
    wanted_.notify_all();
    // A thread that is starting another has yet to enter it in workers_.
    wanted_.wait(lock, [this] { return starting_ == 0; });
  }
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
  }
}

uint32_t Pager::thread_count() {
  const std::lock_guard lock(mutex_);
  return alive_;
}

bool Pager::Submit(const PageJob& job) {
  if (!answers().Expect()) return false;
  bool is_taken = false, sleeps = false;
  {
    const std::lock_guard lock(mutex_);
    is_taken = WhenMemory([&] {
      if (job.is_ahead) {
        ahead_.push_back(job);
      } else {
        jobs_.push_back({job, Now()});
      }
    });
    if (is_taken) is_called_.store(true, std::memory_order_release);
    sleeps = jobs_.size() + ahead_.size() > spinning_;
  }
  if (!is_taken) answers().Unexpect();
  if (sleeps) wanted_.notify_one();
  return is_taken;
}

void Pager::SubmitProbe() {
  {
    const std::lock_guard lock(mutex_);
    probe_is_wanted_ = true;
  }
  wanted_.notify_one();
}

void Pager::Work(size_t self) {
  Lock lock(mutex_);
  // This thread must not end before the thread that started it has entered it in workers_.
  wanted_.wait(lock, [&] { return workers_[self].thread.joinable(); });
  for (Task task = WaitForTask(lock); task != Task::kEnd; task = WaitForTask(lock)) {
    Perform(task, lock);
    if (may_spin_ && !must_act()) SpinWait(lock);
  }
  --alive_;
  workers_[self].is_free = true;
}

Pager::Task Pager::WaitForTask(Lock& lock) {
  while (!stops_) {
    const Task task = TaskAtHand();
    if (task != Task::kEnd) return task;
    if (!jobs_.empty()) {
      // This is the last free thread. Another thread takes the job when it becomes free, or this
      // one when the job is overdue.
      wanted_.wait_for(lock, ChronoOf(overdue_at() - Now()));
    } else if (!WaitIdly(lock)) {
      break;
    }
  }
  return Task::kEnd;
}

// kEnd if there is no job that this thread should take.
Pager::Task Pager::TaskAtHand() const {
  const bool is_spared = free_threads() > 1 || busy_ < options_.threads;
  if (!jobs_.empty()) return is_spared || Now() >= overdue_at() ? Task::kJob : Task::kEnd;
  const bool takes_ahead =
      busy_ahead_ < options_.threads && (is_spared || alive_ < options_.threads_max);
  if (!ahead_.empty() && takes_ahead) return Task::kAhead;
  return probe_is_wanted_ ? Task::kLook : Task::kEnd;
}

// False if the thread is no longer needed. Beside the busy threads, options_.threads are kept free,
// so that no job has to wait until it is overdue.
bool Pager::WaitIdly(Lock& lock) {
  if (free_threads() <= options_.threads) {
    wanted_.wait(lock);
    return true;
  }
  const auto status = wanted_.wait_for(lock, ChronoOf(options_.idle_max));
  return status == std::cv_status::no_timeout || must_act() || free_threads() <= options_.threads;
}

void Pager::Perform(Task task, Lock& lock) {
  ++busy_;
  if (task == Task::kLook) {
    probe_is_wanted_ = false;
    lock.unlock();
    // The probe wakes no thread: the engine finds the result in a later pass.
    watch().Probe(residency_);
    lock.lock();
    --busy_;
    return;
  }
  const bool is_ahead = task == Task::kAhead;
  const PageJob job = is_ahead ? ahead_.front() : jobs_.front().job;
  if (is_ahead) {
    ahead_.pop_front();
    ++busy_ahead_;
  } else {
    jobs_.pop_front();
  }
  if (free_threads() == 0) StartSpare(lock);
  PageInPart(job, lock);
  last_done_ = Now();
  --busy_;
  if (is_ahead) --busy_ahead_;
}

void Pager::PageInPart(PageJob job, Lock& lock) {
  const uint64_t most = std::max<uint64_t>(1, kBytesAtOnce / job.request.fault.page_shift.bytes());
  const PageJob rest = RestAfter(job, std::min(job.page_count, most));
  job.page_count -= rest.page_count;
  lock.unlock();
  PageIn(job);
  answers().Finish(job);
  // The rest becomes a prefetch: a queue pair that gets that far makes a request of its own.
  const bool goes_on = rest.page_count > 0 && job.paged_in == job.page_count && answers().Expect();
  lock.lock();
  if (goes_on && !WhenMemory([&] { ahead_.push_back(rest); })) answers().Unexpect();
}

// Starts one more thread when none is free.
void Pager::StartSpare(Lock& lock) {
  if (stops_) return;
  const bool is_full = alive_ == options_.threads_max;
  bool is_refused = false;
  if (!is_full) {
    try {
      StartWorker(FreePlace(), lock);
    } catch (const std::exception&) {  // the system refused, or there is no memory
      is_refused = true;
    }
  }
  if ((!is_full && !is_refused) || limit_was_reported_ || !options_.on_limit) return;
  limit_was_reported_ = true;
  const uint32_t threads = alive_;
  lock.unlock();
  // Without memory the warning is skipped.
  static_cast<void>(WhenMemory([&] { options_.on_limit(LimitWarning(threads, is_refused)); }));
  lock.lock();
}

// REQUIRES: fewer threads run than workers_ has places.
size_t Pager::FreePlace() {
  const auto found = std::ranges::find_if(workers_, &Worker::is_free);
  CHECK(found != workers_.end());
  return static_cast<size_t>(found - workers_.begin());
}

// Releases the lock while the system starts the thread: the engine must not wait for that.
void Pager::StartWorker(size_t place, Lock& lock) {
  std::thread ended = std::exchange(workers_[place], {.thread = {}, .is_free = false}).thread;
  ++alive_;
  ++starting_;
  std::thread thread;
  const Rollback named([&] {
    lock.lock();
    const bool is_started = thread.joinable();
    workers_[place] = {.thread = std::move(thread), .is_free = !is_started};
    if (!is_started) --alive_;
    --starting_;
    wanted_.notify_all();
  });
  lock.unlock();
  if (ended.joinable()) ended.join();
  thread = StartQuietThread("verbena-pager", [this, place] { Work(place); });
}

void Pager::SpinWait(Lock& lock) {
  is_called_.store(false, std::memory_order_relaxed);
  ++spinning_;
  lock.unlock();
  for (const Time end = Now() + kSpin; Now() < end;) {
    if (is_called_.load(std::memory_order_acquire)) break;
  }
  lock.lock();
  --spinning_;
}

void Pager::PageIn(PageJob& job) const {
  // The events are enabled before the page-in, so that none is lost in between. The residency scan
  // covers memory that cannot be watched.
  if (events_ != nullptr && job.region_bytes > 0) {
    static_cast<void>(events_->Watch(job.region_address, job.region_bytes));
  }
  const memory::Fault& fault = job.request.fault;
  const auto bring = [&](uint64_t pages) {
    return Populate(job.address, pages * fault.page_shift.bytes(), fault.for_write,
                    options_.method);
  };
  if (bring(job.page_count)) {
    job.paged_in = job.page_count;
  } else {
    // The pages before the unavailable one are resident.
    const uint64_t bytes = job.page_count * fault.page_shift.bytes();
    const uint64_t there = residency_.LookForPrefix(job.address, bytes >> PageShift::kMin)
                               << PageShift::kMin >>
                           fault.page_shift.value();
    for (const uint64_t pages : {there, uint64_t{1}}) {
      if (pages == 0 || !bring(pages)) continue;
      job.paged_in = pages;
      break;
    }
  }
}

}  // namespace verbena::odp
