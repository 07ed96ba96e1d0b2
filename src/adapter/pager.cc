#include "adapter/pager.h"

#include <algorithm>
#include <utility>

#include "adapter/clock.h"
#include "base/check.h"
#include "base/quiet_thread.h"
#include "base/rollback.h"
#include "base/when_memory.h"

namespace verbena::adapter {
namespace {

// About as long as it takes to wake a thread, so that it never costs more than twice the best. To
// give way meanwhile would be polite, but on a busy machine the processor would be gone for
// milliseconds, and nobody would wake a thread that counts as awake.
constexpr Duration kLinger = Microseconds(50);

// Takes about as long to bring as to send, and both much longer than to ask.
constexpr uint64_t kBytesAtOnce = 256 << 10;

}  // namespace

Pager::Pager(uint32_t threads, PopulateMethod method, std::function<void()> on_done,
             Duration presence_period)
    : PageService(std::move(on_done), presence_period), method_(method) {
  CHECK(threads > 0);
  threads_.reserve(threads);
  Rollback started([this] { Stop(); });
  for (uint32_t i = 0; i < threads; ++i) {
    threads_.push_back(StartQuietThread("verbena-pager", [this] { Work(); }));
  }
  started.Keep();
}

void Pager::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Pager::Submit(const PageJob& job) {
  if (!answers().Expect()) return false;
  bool is_taken = false, sleeps = false;
  {
    const std::lock_guard lock(mutex_);
    is_taken = WhenMemory([&] { jobs_.push_back(job); });
    if (is_taken) is_called_.store(true, std::memory_order_release);
    sleeps = jobs_.size() > lingering_;
  }
  if (!is_taken) answers().Unexpect();
  if (sleeps) wanted_.notify_one();
  return is_taken;
}

void Pager::SubmitLook() {
  {
    const std::lock_guard lock(mutex_);
    look_is_wanted_ = true;
  }
  wanted_.notify_one();
}

void Pager::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return must_act(); });
    if (stops_) return;
    if (jobs_.empty()) {
      look_is_wanted_ = false;
      lock.unlock();
      // Nobody waits for it: the engine finds it in a later pass.
      watch().Look(presence_);
      lock.lock();
      continue;
    }
    const PageJob job = jobs_.front();
    jobs_.pop_front();
    BringInTurn(job, lock);
    if (lingers_ && !must_act()) Linger(lock);
  }
}

void Pager::BringInTurn(PageJob job, std::unique_lock<std::mutex>& lock) {
  const uint64_t most = std::max<uint64_t>(1, kBytesAtOnce / job.request.fault.page_shift.bytes());
  const PageJob rest = RestAfter(job, std::min(job.page_count, most));
  job.page_count -= rest.page_count;
  lock.unlock();
  Bring(job);
  answers().Finish(job);
  // Nothing waits for the rest yet: a queue pair that comes that far asks again.
  const bool goes_on = rest.page_count > 0 && job.brought == job.page_count && answers().Expect();
  lock.lock();
  if (goes_on && !WhenMemory([&] { jobs_.push_back(rest); })) answers().Unexpect();
}

void Pager::Linger(std::unique_lock<std::mutex>& lock) {
  is_called_.store(false, std::memory_order_relaxed);
  ++lingering_;
  lock.unlock();
  for (const Time end = Now() + kLinger; Now() < end;) {
    if (is_called_.load(std::memory_order_acquire)) break;
  }
  lock.lock();
  --lingering_;
}

void Pager::Bring(PageJob& job) const {
  // Before they come, so that none is lost between. What cannot be watched is looked at instead.
  if (events_ != nullptr && job.region_bytes > 0) {
    static_cast<void>(events_->Watch(job.region_address, job.region_bytes));
  }
  const memory::Fault& fault = job.request.fault;
  const auto bring = [&](uint64_t pages) {
    return Populate(job.address, pages * fault.page_shift.bytes(), fault.for_write, method_);
  };
  if (bring(job.page_count)) {
    job.brought = job.page_count;
  } else {
    // Those before the one that is not to be had are there now.
    const uint64_t bytes = job.page_count * fault.page_shift.bytes();
    const uint64_t there = presence_.LookForPrefix(job.address, bytes >> PageShift::kMin)
                               << PageShift::kMin >>
                           fault.page_shift.value();
    for (const uint64_t pages : {there, uint64_t{1}}) {
      if (pages == 0 || !bring(pages)) continue;
      job.brought = pages;
      break;
    }
  }
}

}  // namespace verbena::adapter
