#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "odp/page_job.h"

namespace verbena::odp {

// Page jobs that are done, on their way from the threads that do them to the engine. Room for the
// answer to a job is found when the job is accepted, so that a thread that finishes one needs no
// memory.
//
// Thread rule: any thread.
class PageAnswers {
 public:
  // `on_done` is called after each job, on the thread that finished it, without a lock.
  explicit PageAnswers(std::function<void()> on_done) : on_done_(std::move(on_done)) {}
  PageAnswers(const PageAnswers&) = delete;
  PageAnswers& operator=(const PageAnswers&) = delete;

  // A job will be finished. False if there is no memory for its answer.
  [[nodiscard]] bool Expect() VERBENA_EXCLUDES(mutex_);
  // It will not be after all.
  void Unexpect() VERBENA_EXCLUDES(mutex_);
  // REQUIRES: it is expected.
  void Finish(const PageJob& job) VERBENA_EXCLUDES(mutex_);

  // Cheap enough to be asked in every pass.
  [[nodiscard]] bool has_done() const { return done_count_.load(std::memory_order_acquire) > 0; }
  // Moves what is done behind the end of `out`, as far as that has room: it does not grow.
  void TakeDone(std::vector<PageJob>& out) VERBENA_EXCLUDES(mutex_);

  // There is room for every answer that is expected, and has_done tells the truth.
  [[nodiscard]] bool IsConsistent() const VERBENA_EXCLUDES(mutex_);

 private:
  const std::function<void()> on_done_;
  mutable Mutex mutex_;
  std::vector<PageJob> done_ VERBENA_GUARDED_BY(mutex_);
  size_t expected_ VERBENA_GUARDED_BY(mutex_) = 0;  // jobs that will be in done_
  std::atomic<size_t> done_count_ = 0;
};

}  // namespace verbena::odp
