#pragma once

#include <vector>

#include "base/event_file.h"
#include "base/mutex.h"

// How a thread that sleeps on a socket hears of what another thread finds there. A thread sleeps on
// the descriptor of the socket, which is readable when a completion comes. But the thread that
// wakes first takes the event, and with it what the others wait for: so it signals each of them.
namespace verbena::rsockets {

// What one thread sleeps on besides descriptors of sockets. Any thread can signal it.
class Waker {
 public:
  // That of the calling thread. Throws std::system_error if the system refuses the file.
  [[nodiscard]] static Waker& OfThisThread();

  [[nodiscard]] int fd() const { return file_.fd(); }
  void Signal() const { file_.Signal(); }
  void Drain() const { static_cast<void>(file_.TryWait()); }

 private:
  Waker();

  EventFile file_;
};

// The threads that sleep on one socket, or are about to. Any thread.
class Watchers {
 public:
  // Signals all but the calling thread.
  void Notify() VERBENA_EXCLUDES(lock_);

 private:
  friend class Watch;

  Mutex lock_;
  std::vector<const Waker*> wakers_ VERBENA_GUARDED_BY(lock_);
};

// The calling thread watches a socket for as long as this lives: what is found from now on signals
// its waker. Look at the socket after this, then sleep.
class Watch {
 public:
  explicit Watch(Watchers& watchers);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  [[nodiscard]] const Waker& waker() const { return waker_; }

 private:
  Watchers& watchers_;
  const Waker& waker_;
};

}  // namespace verbena::rsockets
