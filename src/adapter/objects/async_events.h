#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "adapter/objects/event_queue.h"
#include "adapter/objects/object_set.h"
#include "base/event_file.h"
#include "base/mutex.h"

namespace verbena::adapter {

// The event queues of an adapter, one per context. An event about an object goes directly to the
// queue that the object names; an event about the port goes to all queues.
//
// Owned by the adapter. Any thread.
class AsyncEvents {
 public:
  explicit AsyncEvents(size_t queues_max) : queues_(queues_max) {}
  AsyncEvents(const AsyncEvents&) = delete;
  AsyncEvents& operator=(const AsyncEvents&) = delete;

  // nullptr at the limit.
  [[nodiscard]] EventQueue* Add(EventFile file, size_t events_max) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return queues_.Add(std::move(file), events_max);
  }
  void Remove(EventQueue* queue) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    lost_of_removed_ += queue->lost();
    queues_.Remove(queue);
  }

  void RaiseForAll(const Event& event) VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    queues_.ForEach([&](EventQueue& queue) { queue.Raise(event); });
  }

  // Events that all queues have lost, including removed queues.
  [[nodiscard]] uint64_t lost() const VERBENA_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    uint64_t lost = lost_of_removed_;
    queues_.ForEach([&](const EventQueue& queue) { lost += queue.lost(); });
    return lost;
  }

 private:
  mutable Mutex mutex_;  // lock order: before those of the queues
  ObjectSet<EventQueue> queues_ VERBENA_GUARDED_BY(mutex_);
  uint64_t lost_of_removed_ VERBENA_GUARDED_BY(mutex_) = 0;
};

}  // namespace verbena::adapter
