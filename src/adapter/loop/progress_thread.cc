#include "adapter/loop/progress_thread.h"

#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/loop/short_slice.h"
#include "base/clock.h"
#include "base/quiet_thread.h"
#include "memory/copy/signal_guard.h"

namespace verbena::adapter {
namespace {

// The shortest slice that the scheduler grants. A pass takes a few microseconds.
constexpr Duration kSlice = Microseconds(100);

// The maximum of needed_. A wake-up that finds no packet halves needed_, so after at most 4 of them
// polls make the thread back off again.
constexpr uint32_t kNeededMax = 15;

// The handlers of the guarded copy are checked no more often than this: the check takes two system
// calls, and this thread may wake up for each packet.
constexpr Duration kGuarded = Milliseconds(1);

// A thread that does not spin sleeps on the sockets as soon as a pass has left no work: if more has
// arrived meanwhile, the sleep ends at once. Otherwise it would make a pass that finds nothing for
// each packet that comes alone.
constexpr bool kSleepsAtOnce = true;

timespec AsTimespec(Duration duration) {
  constexpr int64_t kSecond = 1'000'000'000;
  return {.tv_sec = static_cast<time_t>(duration.nanoseconds() / kSecond),
          .tv_nsec = duration.nanoseconds() % kSecond};
}

}  // namespace

ProgressThread::ProgressThread(Engine& engine, EventWait& waits, const EventFile& wake,
                               const AdapterOptions& options)
    : engine_(engine),
      waits_(waits),
      wake_(wake),
      backoff_min_(DurationOf(options.backoff_min)),
      backoff_max_(DurationOf(options.backoff_max)),
      spin_(DurationOf(options.spin)) {
  thread_ = StartQuietThread("verbena-prog", [this] { Work(); });
}

void ProgressThread::Stop() {
  if (!thread_.joinable()) return;
  stops_.store(true);
  wake_.Signal();
  thread_.join();
}

void ProgressThread::Arm() {
  // The progress thread sets is_backed_off_ before it reads the time of the last poll. Here the
  // record of polls is cleared before is_backed_off_ is read. So one of the two sees the other.
  engine_.ClearPolls();
  if (is_backed_off_.load()) wake_.Signal();
}

void ProgressThread::Notice() {
  // The progress thread clears is_backed_off_ before it checks for work; the caller adds the work
  // before is_backed_off_ is read here. So one of the two sees the other.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!is_backed_off_.load()) wake_.Signal();
  waits_.Notice();
}

void ProgressThread::Work() {
  // The default timer slack (50 us) is as long as this thread's shortest sleeps.
  prctl(PR_SET_TIMERSLACK, 1UL);
  AskForSlice(kSlice);
  Duration away = backoff_min_;
  bool was_backed_off = false;
  while (!stops_.load()) {
    const WakeReason wake_reason = SleepArmed(was_backed_off);
    was_backed_off = false;
    EnsureGuarded();
    const bool served = Serve();
    if (served) away = backoff_min_;
    // A packet woke up this thread, but a poller took it first. It will probably do so again.
    bool in_vain = wake_reason == WakeReason::kByPacket && !served;
    if (in_vain) needed_ = IsPolled() ? 0 : needed_ / 2;
    if (served && wake_reason == WakeReason::kByOldPacket) {
      needed_ = std::min(needed_ * 2 + 1, kNeededMax);
    }
    if (needed_ > 0) continue;
    is_backed_off_.store(true);
    while (!stops_.load() && (in_vain || IsServed())) {
      const bool relieved = IsRelieved();
      BackOff(relieved ? Duration::Max() : away);
      away = relieved ? backoff_min_ : std::min(away * 2, backoff_max_);
      if (!IsServed() && HasPolledSinceCheck()) BackOff(backoff_min_);
      FinishWork();
      in_vain = false;
      was_backed_off = true;
    }
    is_backed_off_.store(false);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

// The program may install handlers of its own at any time.
void ProgressThread::EnsureGuarded() {
  const Time now = Now();
  if (now < guarded_until_) return;
  memory::SignalGuard::EnsureInstalled();
  guarded_until_ = now + kGuarded;
}

ProgressThread::WakeReason ProgressThread::SleepArmed(bool was_backed_off) {
  int sockets = 0;
  {
    const EngineLock lock(engine_);
    engine_.AddSleeper();
    sockets = engine_.sockets();
  }
  std::array<pollfd, 5> files{{{.fd = sockets, .events = POLLIN, .revents = 0},
                               {.fd = engine_.alarm().fd(), .events = POLLIN, .revents = 0},
                               {.fd = wake_.fd(), .events = POLLIN, .revents = 0},
                               {.fd = engine_.address_fd(), .events = POLLIN, .revents = 0},
                               {.fd = engine_.mailbox_fd(), .events = POLLIN, .revents = 0}}};
  // A file that is readable already after a back-off has waited for this thread.
  const bool has_waited = was_backed_off && poll(files.data(), files.size(), 0) > 0;
  if (!has_waited) {
    const Time asleep = Now();
    poll(files.data(), files.size(), -1);
    spin_.OnSlept(Now() - asleep);
  }
  wake_ups_.fetch_add(1, std::memory_order_relaxed);
  if (files[2].revents != 0) static_cast<void>(wake_.Wait());
  const EngineLock lock(engine_);
  engine_.RemoveSleeper();
  if (files[1].revents != 0) engine_.alarm().Reset();
  if (files[3].revents != 0) engine_.LookAtAddresses();
  if (files[4].revents != 0) engine_.ReadMailbox();
  const bool otherwise = std::any_of(files.begin() + 1, files.end(),
                                     [](const pollfd& file) { return file.revents != 0; });
  if (files[0].revents == 0 || otherwise) return WakeReason::kOtherwise;
  return has_waited ? WakeReason::kByOldPacket : WakeReason::kByPacket;
}

void ProgressThread::BackOff(Duration duration) {
  std::array<pollfd, 3> files{{{.fd = wake_.fd(), .events = POLLIN, .revents = 0},
                               {.fd = engine_.address_fd(), .events = POLLIN, .revents = 0},
                               {.fd = engine_.mailbox_fd(), .events = POLLIN, .revents = 0}}};
  const timespec timeout = AsTimespec(duration);
  ppoll(files.data(), files.size(), duration == Duration::Max() ? nullptr : &timeout, nullptr);
  wake_ups_.fetch_add(1, std::memory_order_relaxed);
  if (files[0].revents != 0) static_cast<void>(wake_.Wait());
  if (files[1].revents == 0 && files[2].revents == 0) return;
  const EngineLock lock(engine_);
  if (files[1].revents != 0) engine_.LookAtAddresses();
  if (files[2].revents != 0) engine_.ReadMailbox();
}

bool ProgressThread::Serve() {
  if (needed_ > 0 ? IsPolled() : IsServed()) return false;
  bool served = false;
  bool goes_on = false;
  Time busy_at = Now();
  do {
    const EngineLock lock(engine_);
    const bool busy = engine_.Pass();
    if (busy) busy_at = engine_.now();
    served = served || busy;
    goes_on = busy && (!kSleepsAtOnce || spin_.is_on() || engine_.has_work());
  } while (served && !stops_.load() && !IsServed() && (goes_on || spin_.GoesOn(busy_at)));
  return served;
}

bool ProgressThread::IsPolled() const {
  return waits_.is_served() || Now() < engine_.yielded_until();
}

bool ProgressThread::IsServed() const {
  return waits_.is_served() || Now() < std::max(engine_.yielded_until(), engine_.polled_until());
}

// A poller that was preempted for a moment, on a busy machine or by this very thread, comes back.
// Serving in its place would contend with it for the processor and for the engine.
bool ProgressThread::HasPolledSinceCheck() {
  const Time until = engine_.polled_until();
  return std::exchange(seen_polled_until_, until) != until && until != Time();
}

bool ProgressThread::IsRelieved() {
  const uint64_t steps = waits_.serve_count();
  return std::exchange(seen_serve_count_, steps) == steps && waits_.is_served() && waits_.Relieve();
}

// Does the work that is left of a poller that has not come back.
void ProgressThread::FinishWork() {
  if (IsServed()) return;
  const EngineLock lock(engine_);
  if (engine_.has_work()) engine_.Pass();
}

}  // namespace verbena::adapter
