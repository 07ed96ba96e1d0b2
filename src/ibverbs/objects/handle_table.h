#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace verbena::ibverbs {

// Finds objects by number: by a handle that the table assigns (Add), with which a program imports
// the object, or by a number that the object has already (Put), such as its L_Key.
//
// Owned by a context. Thread rule: any thread.
template <class Object>
class HandleTable {
 public:
  // Owned by the object: its destructor takes the object out of the table.
  class Entry {
   public:
    Entry() = default;
    Entry(Entry&& from) noexcept
        : table_(std::exchange(from.table_, nullptr)), handle_(from.handle_) {}
    Entry& operator=(Entry&& from) noexcept {
      std::swap(table_, from.table_);
      std::swap(handle_, from.handle_);
      return *this;
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      if (table_ != nullptr) table_->Remove(handle_);
    }

    [[nodiscard]] uint32_t handle() const { return handle_; }

   private:
    friend class HandleTable;
    Entry(HandleTable& table, uint32_t handle) : table_(&table), handle_(handle) {}

    HandleTable* table_ = nullptr;
    uint32_t handle_ = 0;
  };

  // Assigns a new handle: not 0, and none that is in use.
  [[nodiscard]] Entry Add(Object* object) {
    const MutexLock lock(mutex_);
    do {
      ++last_;
    } while (last_ == 0 || objects_.contains(last_));
    objects_[last_] = object;
    return {*this, last_};
  }
  [[nodiscard]] Entry Put(uint32_t handle, Object* object) {
    const MutexLock lock(mutex_);
    objects_[handle] = object;
    return {*this, handle};
  }
  // Null if no object has this handle.
  [[nodiscard]] Object* Find(uint32_t handle) {
    const MutexLock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  template <class Fn>
  void ForEach(Fn fn) {
    const MutexLock lock(mutex_);
    for (const auto& [handle, object] : objects_) fn(*object);
  }

 private:
  void Remove(uint32_t handle) {
    const MutexLock lock(mutex_);
    objects_.erase(handle);
  }

  Mutex mutex_;
  std::unordered_map<uint32_t, Object*> objects_ VERBENA_GUARDED_BY(mutex_);
  uint32_t last_ VERBENA_GUARDED_BY(mutex_) = 0;
};

}  // namespace verbena::ibverbs
