#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace verbena::adapter {

// Owns objects that programs refer to by pointer, up to a limit. Not thread-safe: its owner guards
// it.
template <class T>
class ObjectSet {
 public:
  explicit ObjectSet(size_t limit) : limit_(limit) {}

  // nullptr at the limit.
  template <class... Args>
  [[nodiscard]] T* Add(Args&&... args) {
    if (full()) return nullptr;
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T* const name = object.get();
    objects_.emplace(name, std::move(object));
    return name;
  }
  [[nodiscard]] bool full() const { return objects_.size() == limit_; }
  // REQUIRES: the object is in the set.
  void Remove(T* object) { CHECK(objects_.erase(object) == 1); }

  template <class Fn>
  void ForEach(Fn fn) const {
    for (const auto& [name, object] : objects_) fn(*object);
  }

  [[nodiscard]] size_t size() const { return objects_.size(); }
  [[nodiscard]] size_t limit() const { return limit_; }

 private:
  const size_t limit_;
  std::unordered_map<const T*, std::unique_ptr<T>> objects_;
};

}  // namespace verbena::adapter
