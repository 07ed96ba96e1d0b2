#pragma once

#include <vector>

#include "base/event_file.h"
#include "base/mutex.h"

// Notifies threads that sleep on a socket of events that another thread finds. A thread sleeps on
// the descriptor of the socket, which is readable when a completion arrives. The thread that wakes
// up first takes the event, which others may be waiting for, so it signals each of them.
namespace verbena::rsockets {

// Wakes up one thread that sleeps on it and on descriptors of sockets. Any thread can signal it.
class Waker {
 public:
  // The waker of the calling thread. Throws std::system_error if the system refuses the file.
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

// The calling thread watches a socket during the lifetime of this object: later events signal its
// waker. Check the socket after construction, then sleep.
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
