#include "adapter/loop/event_wait.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <utility>

#include "adapter/loop/restartable.h"

namespace verbena::adapter {

// A thread inside Wait. The destructor also runs when the thread is cancelled in its sleep.
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
    // The remaining waiters need the progress thread: past polls must not keep it backed off.
    if (others) wait_.engine_.ClearPolls();
    if (wait_.is_relieved_.exchange(false) || others) wait_.wake_.Signal();
  }

  [[nodiscard]] bool serves() const { return serves_; }

 private:
  EventWait& wait_;
  bool serves_ = false;
};

// The sleeps of the serving thread, and its passes between them. The engine counts the thread as a
// sleeper until a pass raises the event, or until the thread gives up or is cancelled.
template <class Channel>
class EventWait::SocketSleep {
 public:
  // Packets that arrived in the meantime end the first sleep at once. A pass before that sleep is
  // only needed if earlier passes have left work.
  SocketSleep(Engine& engine, const EventFile& notice, Channel& channel)
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

  // Another pass may find work at once: the thread must not sleep yet.
  [[nodiscard]] bool is_busy() const { return is_busy_; }
  // The time of the last pass. Used instead of Now(), which takes a system call on some machines.
  [[nodiscard]] Time passed_at() const { return passed_at_; }

  // False, with errno, if a signal handler ended the sleep.
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

  // Returns the event, if the pass raised it. Other threads can take the lock between two passes.
  auto Pass() {
    const EngineLock lock(engine_);
    if (std::exchange(is_alarmed_, false)) engine_.alarm().Reset();
    channel_.Expect();
    is_busy_ = engine_.PassFor(channel_);
    passed_at_ = engine_.now();
    auto event = channel_.TakeExpected();
    has_event_ = static_cast<bool>(event);
    if (has_event_) engine_.RemoveSleeper();
    return event;
  }

 private:
  Engine& engine_;
  const EventFile& notice_;
  Channel& channel_;
  Time passed_at_;
  bool is_busy_ = false;
  bool is_alarmed_ = false;
  bool has_event_ = false;
};

template <class Channel>
auto EventWait::WaitFor(Channel& channel) -> decltype(channel.Wait()) {
  if (channel.has_events() || !channel.blocks()) return channel.Wait();
  const Sleeper sleeper(*this);
  channel.set_serves_itself(sleeper.serves());
  return sleeper.serves() ? ServeUntilEvent(channel) : channel.Wait();
}

Cq* EventWait::Wait(CompletionChannel& channel) { return WaitFor(channel); }
std::optional<CmEvent> EventWait::Wait(CmEventQueue& queue) { return WaitFor(queue); }

template <class Channel>
auto EventWait::ServeUntilEvent(Channel& channel) -> decltype(channel.Wait()) {
  serve_count_.fetch_add(1, std::memory_order_relaxed);
  SocketSleep<Channel> sleep(engine_, notice_, channel);
  while (true) {
    const Time begin = sleep.passed_at();
    while (sleep.is_busy() || spin_.GoesOn(begin)) {
      if (auto event = sleep.Pass()) return event;
      // Another thread's pass can raise the event, and peers can keep this loop busy for ever.
      if (auto event = channel.TryWait()) return event;
    }
    const Time asleep = sleep.passed_at();
    if (!sleep.Sleep()) return {};
    // Another thread can take the event of this channel first: then TryWait finds none.
    if (auto event = channel.TryWait()) return event;
    auto event = sleep.Pass();
    spin_.OnSlept(sleep.passed_at() - asleep);
    if (event) return event;
  }
}

void EventWait::Notice() {
  // The serving thread sets serves_ before it checks for work; here the work is done before serves_
  // is read. So one of the two sees the other.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (serves_.load()) notice_.Signal();
}

bool EventWait::Relieve() {
  is_relieved_.store(true);
  // Here is_relieved_ is stored before serves_ is read; the serving thread clears serves_ before it
  // reads is_relieved_. So one of the two sees the other.
  if (serves_.load()) return true;
  is_relieved_.store(false);
  return false;
}

}  // namespace verbena::adapter
