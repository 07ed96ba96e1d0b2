#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "odp/page_job.h"

namespace verbena::odp {

// Finished page jobs on their way from the threads that do them to the engine. Room for the answer
// is reserved when a job is accepted, so that a thread that finishes a job needs no memory.
//
// Thread rule: any thread.
class PageAnswers {
 public:
  // `on_done` is called after each job, on the thread that finished it, without a lock.
  explicit PageAnswers(std::function<void()> on_done) : on_done_(std::move(on_done)) {}
  PageAnswers(const PageAnswers&) = delete;
  PageAnswers& operator=(const PageAnswers&) = delete;

  // Reserves room for the answer to a job. False if there is no memory for it.
  [[nodiscard]] bool Expect() VERBENA_EXCLUDES(mutex_);
  // Undoes an Expect: the job will not be finished.
  void Unexpect() VERBENA_EXCLUDES(mutex_);
  // REQUIRES: Expect was called for the job.
  void Finish(const PageJob& job) VERBENA_EXCLUDES(mutex_);

  // Cheap enough to be called in every pass.
  [[nodiscard]] bool has_done() const { return done_count_.load(std::memory_order_acquire) > 0; }
  // Moves finished jobs to the end of `out`, as far as its capacity goes: `out` does not grow.
  void TakeDone(std::vector<PageJob>& out) VERBENA_EXCLUDES(mutex_);

  // Whether there is room for every expected answer, and has_done() is right.
  [[nodiscard]] bool IsConsistent() const VERBENA_EXCLUDES(mutex_);

 private:
  const std::function<void()> on_done_;
  mutable Mutex mutex_;
  std::vector<PageJob> done_ VERBENA_GUARDED_BY(mutex_);
  size_t expected_ VERBENA_GUARDED_BY(mutex_) = 0;  // jobs that will be in done_
  std::atomic<size_t> done_count_ = 0;
};

}  // namespace verbena::odp
