#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/mutex.h"

namespace verbena::ibverbs {

// Objects by number: one that is given out here, by which a program that imports the context finds
// them again, or one that they have anyway.
//
// Owned by a context. Thread rule: any thread.
template <class Object>
class HandleTable {
 public:
  // The number: never 0, and not one that is in use.
  [[nodiscard]] uint32_t Add(Object* object) {
    const MutexLock lock(mutex_);
    do {
      ++last_;
    } while (last_ == 0 || objects_.contains(last_));
    objects_[last_] = object;
    return last_;
  }
  void Put(uint32_t handle, Object* object) {
    const MutexLock lock(mutex_);
    objects_[handle] = object;
  }
  void Remove(uint32_t handle) {
    const MutexLock lock(mutex_);
    objects_.erase(handle);
  }
  // Null if there is none.
  [[nodiscard]] Object* Find(uint32_t handle) {
    const MutexLock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

 private:
  Mutex mutex_;
  std::unordered_map<uint32_t, Object*> objects_ VERBENA_GUARDED_BY(mutex_);
  uint32_t last_ VERBENA_GUARDED_BY(mutex_) = 0;
};

}  // namespace verbena::ibverbs
