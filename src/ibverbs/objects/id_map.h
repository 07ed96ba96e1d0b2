#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/mutex.h"
#include "verbena/numbers.h"

namespace verbena::ibverbs {

struct Cq;
struct Qp;
struct Srq;

// Finds the object of the program for an event of the adapter.
//
// Owned by a context. Thread rule: any thread.
class IdMap {
 public:
  void Add(CqId id, Cq* cq) { cqs_.Add(id.value(), cq); }
  void Add(SrqId id, Srq* srq) { srqs_.Add(id.value(), srq); }
  void Add(QpNumber number, Qp* qp) { qps_.Add(number.value(), qp); }
  // No effect if another object has got the number, which was free once the object was destroyed in
  // the adapter.
  void Remove(CqId id, const Cq* cq) { cqs_.Remove(id.value(), cq); }
  void Remove(SrqId id, const Srq* srq) { srqs_.Remove(id.value(), srq); }
  void Remove(QpNumber number, const Qp* qp) { qps_.Remove(number.value(), qp); }

  // Calls `fn(object)` for all objects: queue pairs first, because they use the others.
  template <class Fn>
  void ForEach(Fn fn) {
    qps_.ForEach(fn);
    srqs_.ForEach(fn);
    cqs_.ForEach(fn);
  }

  // Calls `end()`, which destroys a queue pair in the adapter, while no thread is in a call below.
  template <class End>
  auto EndQp(End end) {
    return qps_.Alone(end);
  }

  // Calls `use(object)` if the object exists; it cannot be destroyed meanwhile. False if it does
  // not exist.
  template <class Refcount>
  bool With(CqId id, Refcount use) {
    return cqs_.With(id.value(), use);
  }
  template <class Refcount>
  bool With(SrqId id, Refcount use) {
    return srqs_.With(id.value(), use);
  }
  template <class Refcount>
  bool With(QpNumber number, Refcount use) {
    return qps_.With(number.value(), use);
  }

 private:
  template <class Object>
  class Map {
   public:
    void Add(uint64_t id, Object* object) {
      const MutexLock lock(mutex_);
      objects_[id] = object;
    }
    void Remove(uint64_t id, const Object* object) {
      const MutexLock lock(mutex_);
      const auto found = objects_.find(id);
      if (found != objects_.end() && found->second == object) objects_.erase(found);
    }
    template <class Fn>
    auto Alone(Fn fn) {
      const MutexLock lock(mutex_);
      return fn();
    }
    template <class Refcount>
    bool With(uint64_t id, Refcount use) {
      const MutexLock lock(mutex_);
      const auto found = objects_.find(id);
      if (found == objects_.end()) return false;
      use(*found->second);
      return true;
    }

    template <class Fn>
    void ForEach(Fn fn) {
      const MutexLock lock(mutex_);
      for (const auto& [id, object] : objects_) fn(*object);
    }

   private:
    Mutex mutex_;
    std::unordered_map<uint64_t, Object*> objects_ VERBENA_GUARDED_BY(mutex_);
  };

  Map<Cq> cqs_;
  Map<Srq> srqs_;
  Map<Qp> qps_;
};

}  // namespace verbena::ibverbs
