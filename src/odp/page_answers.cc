#include "odp/page_answers.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"
#include "base/when_memory.h"

namespace verbena::odp {

bool PageAnswers::Expect() {
  const MutexLock lock(mutex_);
  const size_t needed = done_.size() + expected_ + 1;
  const bool has_room = WhenMemory([&]() VERBENA_UNDER_CALLERS_LOCK {
    if (needed > done_.capacity()) done_.reserve(std::max(needed, 2 * done_.capacity()));
  });
  if (has_room) ++expected_;
  return has_room;
}

void PageAnswers::Unexpect() {
  const MutexLock lock(mutex_);
  CHECK(expected_ > 0);
  --expected_;
}

void PageAnswers::Finish(const PageJob& job) {
  {
    const MutexLock lock(mutex_);
    CHECK(expected_ > 0);
    --expected_;
    DCHECK(done_.size() < done_.capacity());
    done_.push_back(job);
    done_count_.store(done_.size(), std::memory_order_release);
  }
  on_done_();
}

void PageAnswers::TakeDone(std::vector<PageJob>& out) {
  const MutexLock lock(mutex_);
  const auto taken = static_cast<ptrdiff_t>(std::min(done_.size(), out.capacity() - out.size()));
  out.insert(out.end(), done_.begin(), done_.begin() + taken);
  done_.erase(done_.begin(), done_.begin() + taken);
  done_count_.store(done_.size(), std::memory_order_release);
}

bool PageAnswers::IsConsistent() const {
  const MutexLock lock(mutex_);
  return done_.size() + expected_ <= done_.capacity() && done_count_.load() == done_.size();
}

}  // namespace verbena::odp
