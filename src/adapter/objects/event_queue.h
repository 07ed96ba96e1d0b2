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

// The type of an event and its object: the queue pair, or the completion queue or shared receive
// queue.
struct Event {
  AsyncEventType type;
  QpNumber qp = {};
  Cq* cq = nullptr;
  Srq* srq = nullptr;

  friend bool operator==(const Event&, const Event&) = default;
};

// The asynchronous events of one context that the program has not read yet, with a file to wait on.
// Bounded: an event that does not fit is counted and lost. Queue pairs, completion queues and
// shared receive queues name the queue of their context.
//
// Owned by the adapter. Any thread; but no thread may wait while another closes it.
class EventQueue {
 public:
  EventQueue(EventFile file, size_t events_max) : file_(std::move(file)), events_(events_max) {}
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  [[nodiscard]] int fd() const { return file_.fd(); }

  // Signals under the lock: after Close the descriptor may belong to another file.
  void Raise(const Event& event) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (is_closed_) return;
    if (events_.TryPush(event)) {
      file_.Signal();
    } else {
      ++lost_;
    }
  }

  // The oldest event; nullopt if there is none and the file does not block, or if the event was
  // dropped.
  [[nodiscard]] std::optional<Event> Wait() VERBENA_EXCLUDES(mutex_) {
    if (!file_.Wait()) return std::nullopt;
    const MutexLock lock(mutex_);
    return events_.TryPop();
  }

  // The same, but never blocks.
  [[nodiscard]] std::optional<Event> TryWait() VERBENA_EXCLUDES(mutex_) {
    if (!has_events() || !file_.TryWait()) return std::nullopt;
    const MutexLock lock(mutex_);
    return events_.TryPop();
  }
  [[nodiscard]] bool has_events() const VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return !events_.empty();
  }

  // Drops all events for which `about` is true, because their objects are about to be destroyed.
  template <class Predicate>
  void Forget(Predicate about) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (size_t left = events_.size(); left > 0; --left) {
      const std::optional<Event> event = events_.TryPop();
      if (!about(*event)) static_cast<void>(events_.TryPush(*event));
    }
  }

  // The context is closed: the program cannot read events any more, but objects may still name the
  // queue. Closes the descriptor.
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
