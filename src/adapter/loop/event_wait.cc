#include "adapter/loop/event_wait.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <utility>

#include "adapter/loop/restartable.h"

namespace verbena::adapter {

// A thread inside Wait. Its destruction also happens when the thread is cancelled in its sleep.
class EventWait::Sleeper {
 public:
  explicit Sleeper(EventWait& wait) : wait_(wait) {
    const bool alone = wait_.sleepers_.fetch_add(1) == 0;
    serves_ = alone && !wait_.serves_.exchange(true);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    const bool others = wait_.sleepers_.fetch_sub(1) > 1;
    if (!serves_) return;
    wait_.serves_.store(false);
    // The others need the progress thread now.
    if (others) wait_.engine_.ClearPolls();
    if (wait_.is_relieved_.exchange(false) || others) wait_.wake_.Signal();
  }

  [[nodiscard]] bool serves() const { return serves_; }

 private:
  EventWait& wait_;
  bool serves_ = false;
};

// The sleeps of the thread that serves, and the passes between. The engine counts it as a sleeper
// until a pass brings the event, or until the thread gives up or is cancelled.
class EventWait::SocketSleep {
 public:
  // What came while the thread was away wakes it at once: only what is left of earlier passes needs
  // one before the first sleep.
  SocketSleep(Engine& engine, const EventFile& notice, CompletionChannel& channel)
      : engine_(engine), notice_(notice), channel_(channel) {
    const EngineLock lock(engine_);
    engine_.AddSleeper();
    is_busy_ = engine_.has_work();
    passed_at_ = engine_.now();
  }
  SocketSleep(const SocketSleep&) = delete;
  SocketSleep& operator=(const SocketSleep&) = delete;
  ~SocketSleep() {
    if (has_event_) return;
    const int error = errno;
    const EngineLock lock(engine_);
    engine_.RemoveSleeper();
    errno = error;
  }

  // Another pass may find something at once.
  [[nodiscard]] bool is_busy() const { return is_busy_; }
  // The time of the last pass, which is the last time that was asked for: on some machines that
  // takes a system call.
  [[nodiscard]] Time passed_at() const { return passed_at_; }

  // False with errno if a signal handler ended it.
  bool Sleep() {
    std::array<pollfd, 4> files{{{.fd = engine_.sockets(), .events = POLLIN, .revents = 0},
                                 {.fd = engine_.alarm().fd(), .events = POLLIN, .revents = 0},
                                 {.fd = notice_.fd(), .events = POLLIN, .revents = 0},
                                 {.fd = channel_.fd(), .events = POLLIN, .revents = 0}}};
    if (poll(files.data(), files.size(), -1) < 0) return errno == EINTR && SignalsRestart();
    is_alarmed_ = files[1].revents != 0;
    if (files[2].revents != 0) static_cast<void>(notice_.Wait());
    return true;
  }

  // The event, if the pass brought it. Between two passes other threads get the lock.
  Cq* Pass() {
    const EngineLock lock(engine_);
    if (std::exchange(is_alarmed_, false)) engine_.alarm().Reset();
    channel_.Expect();
    is_busy_ = engine_.PassFor(channel_);
    passed_at_ = engine_.now();
    Cq* const cq = channel_.TakeExpected();
    has_event_ = cq != nullptr;
    if (has_event_) engine_.RemoveSleeper();
    return cq;
  }

 private:
  Engine& engine_;
  const EventFile& notice_;
  CompletionChannel& channel_;
  Time passed_at_;
  bool is_busy_ = false;
  bool is_alarmed_ = false;
  bool has_event_ = false;
};

Cq* EventWait::Wait(CompletionChannel& channel) {
  if (channel.has_events() || !channel.blocks()) return channel.Wait();
  const Sleeper sleeper(*this);
  channel.set_serves_itself(sleeper.serves());
  return sleeper.serves() ? ServeUntilEvent(channel) : channel.Wait();
}

Cq* EventWait::ServeUntilEvent(CompletionChannel& channel) {
  serve_count_.fetch_add(1, std::memory_order_relaxed);
  SocketSleep sleep(engine_, notice_, channel);
  while (true) {
    const Time begin = sleep.passed_at();
    while (sleep.is_busy() || spin_.GoesOn(begin)) {
      if (Cq* const cq = sleep.Pass()) return cq;
      // Raised in a pass of another thread. A peer may keep this one busy without an end.
      if (Cq* const cq = channel.TryWait()) return cq;
    }
    const Time asleep = sleep.passed_at();
    if (!sleep.Sleep()) return nullptr;
    // Another thread of this channel may be quicker: then there is nothing to take.
    if (Cq* const cq = channel.TryWait()) return cq;
    Cq* const cq = sleep.Pass();
    spin_.OnSlept(sleep.passed_at() - asleep);
    if (cq != nullptr) return cq;
  }
}

void EventWait::Notice() {
  // The thread says that it serves before it looks whether there is work.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (serves_.load()) notice_.Signal();
}

bool EventWait::Relieve() {
  is_relieved_.store(true);
  // The thread that serves says that it leaves before it asks whom to tell; here it is the other
  // way round.
  if (serves_.load()) return true;
  is_relieved_.store(false);
  return false;
}

}  // namespace verbena::adapter
