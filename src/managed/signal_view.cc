#include "managed/signal_view.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include <climits>

#include "base/check.h"
#include "memory/copy/signal_guard.h"

namespace verbena::managed {
namespace {

// Where the handler finds the views. The handler increments the count before it reads the view; the
// destructor of a view waits until the count is 0.
struct Seat {
  std::atomic<SignalView*> view = nullptr;
  std::atomic<uint32_t> handlers = 0;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler has no
// parameters
constinit std::array<Seat, SignalView::kViewsMax> seats;

bool TakeSeat(SignalView* view) {
  return std::any_of(seats.begin(), seats.end(), [view](Seat& seat) {
    SignalView* free = nullptr;
    return seat.view.compare_exchange_strong(free, view);
  });
}

void LeaveSeat(SignalView* view) {
  for (Seat& seat : seats) {
    SignalView* expected = view;
    if (!seat.view.compare_exchange_strong(expected, nullptr)) continue;
    while (seat.handlers.load() > 0) sched_yield();
  }
}

std::optional<bool> IsWrite([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  return std::nullopt;
#endif
}

bool ServeFault(const siginfo_t& info, const ucontext_t& context) {
  const auto* const address = static_cast<const std::byte*>(info.si_addr);
  for (Seat& seat : seats) {
    if (seat.view.load(std::memory_order_relaxed) == nullptr) continue;
    seat.handlers.fetch_add(1);
    SignalView* const view = seat.view.load();
    const bool is_ours = view != nullptr && view->Contains(address);
    const bool served = is_ours && view->Serve(address, IsWrite(context));
    seat.handlers.fetch_sub(1);
    if (is_ours) return served;
  }
  return false;
}

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

}  // namespace

ErrorOr<std::unique_ptr<CpuView>> SignalView::Make(std::span<std::byte> bytes, PageShift granule) {
  FileDescriptor posted(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!posted.is_open()) return Fail(SystemError("eventfd"));
  std::unique_ptr<SignalView> view(new SignalView(std::move(posted), bytes, granule));
  if (mprotect(bytes.data(), bytes.size(), PROT_NONE) != 0) return Fail(SystemError("mprotect"));
  if (!TakeSeat(view.get())) {
    return Fail(SystemError(ENOMEM, "this process has 64 managed memories, which is the limit"));
  }
  memory::SignalGuard::InstallWith(ServeFault);
  return view;
}

void SignalView::Unmap(paging::Run run) { Set(run, PROT_NONE, ViewRight::kNone); }

void SignalView::Map(paging::Run run, bool is_writable) {
  if (is_writable) {
    Set(run, PROT_READ | PROT_WRITE, ViewRight::kWrite);
  } else {
    Set(run, PROT_READ, ViewRight::kRead);
  }
  Wake(run);
}

void SignalView::Refuse(paging::Run run) {
  Set(run, PROT_NONE, ViewRight::kRefused);
  Wake(run);
}

size_t SignalView::TakeFaults(std::span<CpuFault> faults) {
  uint64_t signals = 0;
  [[maybe_unused]] const ssize_t cleared = read(posted_some_.get(), &signals, sizeof signals);
  const size_t count = faults_.Take(faults);
  // The pager may have missed some faults: one wake-up too many is harmless.
  const uint64_t one = 1;
  if (count == faults.size()) {
    [[maybe_unused]] const ssize_t signalled = write(posted_some_.get(), &one, sizeof one);
  }
  return count;
}

void SignalView::Stop() {
  if (has_stopped_.exchange(true)) return;
  mprotect(bytes_.data(), bytes_.size(), PROT_NONE);
  for (Bucket& bucket : buckets_) WakeAll(bucket);
  LeaveSeat(this);
}

bool SignalView::Serve(const std::byte* address, std::optional<bool> is_write) {
  const auto granule = static_cast<uint32_t>((address - bytes_.data()) >> granule_.value());
  Bucket& bucket = BucketOf(granule);
  const uint32_t value = bucket.word.load();
  const ViewRight right = rights_[granule].load(std::memory_order_acquire);
  if (has_stopped_.load() || right == ViewRight::kRefused || getpid() != owner_) return false;
  // If the kind of access is not known, write access is requested only after read access was not
  // enough.
  const bool posted =
      faults_.Post({.granule = granule, .is_write = is_write.value_or(right != ViewRight::kNone)});
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t signalled = write(posted_some_.get(), &one, sizeof one);
  // A thread whose fault was not posted must try again without the help of another thread.
  SleepOn(bucket, value, !posted);
  return true;
}

void SignalView::SleepOn(Bucket& bucket, uint32_t value, bool for_a_moment) {
  constexpr timespec kMillisecond{.tv_sec = 0, .tv_nsec = 1'000'000};
  bucket.sleepers.fetch_add(1);
  syscall(SYS_futex, &bucket.word, FUTEX_WAIT_PRIVATE, value,
          for_a_moment ? &kMillisecond : nullptr, nullptr, 0);
  bucket.sleepers.fetch_sub(1);
}

void SignalView::WakeAll(Bucket& bucket) {
  bucket.word.fetch_add(1);
  if (bucket.sleepers.load() == 0) return;
  syscall(SYS_futex, &bucket.word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

std::span<std::byte> SignalView::BytesOf(paging::Run run) const {
  return bytes_.subspan(uint64_t{run.first} * granule_.bytes(), run.count * granule_.bytes());
}

void SignalView::Set(paging::Run run, int protection, ViewRight right) {
  const std::span<std::byte> bytes = BytesOf(run);
  if (mprotect(bytes.data(), bytes.size(), protection) != 0 && errno == ENOMEM) {
    // No mapping is left, or the program has unmapped a part itself. Makes the view one mapping, or
    // three if one granule keeps its right.
    mprotect(bytes_.data(), bytes_.size(), PROT_NONE);
    mprotect(bytes.data(), bytes.size(), protection);
  }
  for (uint32_t i = run.first; i < run.end(); ++i) {
    rights_[i].store(right, std::memory_order_release);
  }
}

// A run longer than the number of buckets would wake some buckets twice.
void SignalView::Wake(paging::Run run) {
  for (uint32_t i = 0; i < std::min<uint32_t>(run.count, kBuckets); ++i) {
    WakeAll(BucketOf(run.first + i));
  }
}

}  // namespace verbena::managed
