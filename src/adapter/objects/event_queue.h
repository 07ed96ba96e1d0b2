#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/event_file.h"
#include "base/mutex.h"
#include "base/ring.h"
#include "transport/common/async_event.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

class Cq;
class Srq;

// What happened, and to what: the queue pair, or the one of the other two that the type is about.
struct Event {
  AsyncEventType type;
  QpNumber qp = {};
  Cq* cq = nullptr;
  Srq* srq = nullptr;

  friend bool operator==(const Event&, const Event&) = default;
};

// The asynchronous events of one context that the program has not asked for yet, with a file to
// wait on. Bounded: what does not fit is counted and lost. Queue pairs, completion queues and
// shared receive queues name the queue of the context that made them.
//
// Owned by the adapter. Any thread; but no thread may wait while another closes it.
class EventQueue {
 public:
  EventQueue(EventFile file, size_t events_max) : file_(std::move(file)), events_(events_max) {}
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  [[nodiscard]] int fd() const { return file_.fd(); }

  // Signals under the lock: after Close the descriptor may be another file's.
  void Raise(const Event& event) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (is_closed_) return;
    if (events_.TryPush(event)) {
      file_.Signal();
    } else {
      ++lost_;
    }
  }

  // The oldest; nullopt if there is none and the file does not block, or if it was forgotten.
  [[nodiscard]] std::optional<Event> Wait() VERBENA_EXCLUDES(mutex_) {
    if (!file_.Wait()) return std::nullopt;
    const MutexLock lock(mutex_);
    return events_.TryPop();
  }

  // The same, and never blocks.
  [[nodiscard]] std::optional<Event> TryWait() VERBENA_EXCLUDES(mutex_) {
    if (!has_events() || !file_.TryWait()) return std::nullopt;
    const MutexLock lock(mutex_);
    return events_.TryPop();
  }
  [[nodiscard]] bool has_events() const VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return !events_.empty();
  }

  // Drops all of which `about` is true: what they name is about to be destroyed.
  template <class Predicate>
  void Forget(Predicate about) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (size_t left = events_.size(); left > 0; --left) {
      const std::optional<Event> event = events_.TryPop();
      if (!about(*event)) static_cast<void>(events_.TryPush(*event));
    }
  }

  // The context is closed: no caller can ask for events any more, while objects may still name the
  // queue. Gives the descriptor back to the system.
  void Close() VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    is_closed_ = true;
    events_.clear();
    file_.Close();
  }

  [[nodiscard]] uint64_t lost() const VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return lost_;
  }

  uint32_t users = 0;  // objects that name it; under the engine's lock

 private:
  EventFile file_;
  mutable Mutex mutex_;
  Ring<Event> events_ VERBENA_GUARDED_BY(mutex_);
  uint64_t lost_ VERBENA_GUARDED_BY(mutex_) = 0;
  bool is_closed_ VERBENA_GUARDED_BY(mutex_) = false;
};

}  // namespace verbena::adapter
