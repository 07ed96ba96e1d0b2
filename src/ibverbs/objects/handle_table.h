#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace verbena::ibverbs {

// Objects by number: one that is given out here, by which a program that imports the context finds
// them again, or one that they have anyway.
//
// Owned by a context. Thread rule: any thread.
template <class Object>
class HandleTable {
 public:
  // That an object is in the table: it is until this ends.
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

  // With a new number: never 0, and not one that is in use.
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
  // Null if there is none.
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
