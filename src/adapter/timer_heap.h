#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace verbena::adapter {

// The base class of objects in a TimerHeap.
struct TimerHook {
  static constexpr size_t kNowhere = ~size_t{0};

  Time looked_at = Time::Never();  // when TakeDue returns the object
  size_t heap_index = kNowhere;
};

// A binary heap of deadlines, the earliest first.
//
// Deadlines move later far more often than earlier: every ACK of a peer restarts a timer. So an
// object whose deadline moves later, or is cancelled, keeps its place in the heap, and TakeDue
// returns it early; the caller then calls Set with the current deadline. Only an earlier deadline
// moves the object at once. So an object is returned once per deadline that was ever the earliest,
// instead of being moved for each.
//
// Invariant: looked_at is not later than the deadline of the last Set. One thread at a time: the
// engine.
template <class T>
class TimerHeap {
 public:
  // After this, Set for up to so many objects allocates no memory.
  void Reserve(size_t objects) {
    if (objects > heap_.capacity()) heap_.reserve(std::max(objects, 2 * heap_.capacity()));
  }

  // Sets the deadline of `object`. Time::Never(): it has none.
  void Set(T& object, Time at) {
    TimerHook& hook = object;
    if (at >= hook.looked_at) return;
    DCHECK(hook.heap_index == TimerHook::kNowhere || heap_[hook.heap_index] == &hook);
    hook.looked_at = at;
    if (hook.heap_index == TimerHook::kNowhere) {
      hook.heap_index = heap_.size();
      heap_.push_back(&hook);
    }
    SiftUp(hook.heap_index);
  }

  // When to call TakeDue: not later than the earliest deadline, but possibly a deadline that has
  // moved.
  [[nodiscard]] Time next() const {
    return heap_.empty() ? Time::Never() : heap_.front()->looked_at;
  }

  // Removes and returns an object whose time has come; nullptr if there is none. The caller must
  // set its deadline again.
  [[nodiscard]] T* TakeDue(Time now) {
    if (heap_.empty() || heap_.front()->looked_at > now) return nullptr;
    TimerHook* const hook = heap_.front();
    RemoveAt(0);
    return static_cast<T*>(hook);
  }

  // Removes an object that is about to be destroyed, if it is in the heap.
  void Remove(T& object) {
    const TimerHook& hook = object;
    if (hook.heap_index != TimerHook::kNowhere) RemoveAt(hook.heap_index);
  }

  [[nodiscard]] size_t size() const { return heap_.size(); }

  [[nodiscard]] bool IsConsistent() const {
    for (size_t i = 0; i < heap_.size(); ++i) {
      if (heap_[i]->heap_index != i) return false;
      if (i > 0 && heap_[i]->looked_at < heap_[(i - 1) / 2]->looked_at) return false;
    }
    return true;
  }

 private:
  void RemoveAt(size_t index) {
    DCHECK(index < heap_.size() && heap_[index]->heap_index == index);
    TimerHook* const hook = heap_[index];
    TimerHook* const last = heap_.back();
    heap_.pop_back();
    hook->heap_index = TimerHook::kNowhere;
    hook->looked_at = Time::Never();
    if (last == hook) return;
    heap_[index] = last;
    last->heap_index = index;
    SiftUp(index);
    SiftDown(last->heap_index);
  }

  void SiftUp(size_t index) {
    while (index > 0) {
      const size_t parent = (index - 1) / 2;
      if (heap_[parent]->looked_at <= heap_[index]->looked_at) return;
      Swap(parent, index);
      index = parent;
    }
  }

  void SiftDown(size_t index) {
    while (true) {
      size_t child = 2 * index + 1;
      if (child >= heap_.size()) return;
      if (child + 1 < heap_.size() && heap_[child + 1]->looked_at < heap_[child]->looked_at) {
        ++child;
      }
      if (heap_[index]->looked_at <= heap_[child]->looked_at) return;
      Swap(index, child);
      index = child;
    }
  }

  void Swap(size_t a, size_t b) {
    std::swap(heap_[a], heap_[b]);
    heap_[a]->heap_index = a;
    heap_[b]->heap_index = b;
  }

  std::vector<TimerHook*> heap_;
};

}  // namespace verbena::adapter
