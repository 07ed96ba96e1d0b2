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

    // For an object that is about to be destroyed, or changed: With no longer finds it, until Show.
    // Does nothing and returns false if `is_free` returns false. No thread is in With meanwhile, so
    // references that With hands out are counted by then. Without an entry only `is_free` decides.
    template <class Fn>
    [[nodiscard]] bool HideIf(Fn is_free) {
      return table_ != nullptr ? table_->HideIf(handle_, is_free) : is_free();
    }
    void Show() {
      if (table_ != nullptr) table_->Show(handle_);
    }

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
    objects_[last_] = {.object = object};
    return {*this, last_};
  }
  [[nodiscard]] Entry Put(uint32_t handle, Object* object) {
    const MutexLock lock(mutex_);
    objects_[handle] = {.object = object};
    return {*this, handle};
  }
  // Calls `fn` with the object, which is not destroyed meanwhile: `fn` runs under the lock. A
  // caller that uses the object afterwards takes a Refcount on it there. False if no object has
  // this handle.
  template <class Fn>
  [[nodiscard]] bool With(uint32_t handle, Fn fn) {
    const MutexLock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end() || found->second.is_hidden) return false;
    fn(*found->second.object);
    return true;
  }
  template <class Fn>
  void ForEach(Fn fn) {
    const MutexLock lock(mutex_);
    for (const auto& [handle, place] : objects_) fn(*place.object);
  }

 private:
  struct Place {
    Object* object = nullptr;
    bool is_hidden = false;
  };

  template <class Fn>
  bool HideIf(uint32_t handle, Fn is_free) {
    const MutexLock lock(mutex_);
    if (!is_free()) return false;
    objects_.at(handle).is_hidden = true;
    return true;
  }
  void Show(uint32_t handle) {
    const MutexLock lock(mutex_);
    objects_.at(handle).is_hidden = false;
  }
  void Remove(uint32_t handle) {
    const MutexLock lock(mutex_);
    objects_.erase(handle);
  }

  Mutex mutex_;
  std::unordered_map<uint32_t, Place> objects_ VERBENA_GUARDED_BY(mutex_);
  uint32_t last_ VERBENA_GUARDED_BY(mutex_) = 0;
};

}  // namespace verbena::ibverbs
