#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace verbena::adapter {

// What an object needs to stand in a TimerHeap; a base of it.
struct TimerHook {
  static constexpr size_t kNowhere = ~size_t{0};

  Time looked_at = Time::Never();  // when the heap will show it
  size_t heap_index = kNowhere;
};

// Deadlines, the earliest first: a binary heap.
//
// Deadlines move later far more often than earlier: every answer of a peer restarts a timer. So an
// object whose deadline has moved later, or away, keeps its place and is shown early; the caller
// that takes it asks it again. Only an earlier deadline moves it at once. An object is thus shown
// once per deadline that was ever the earliest, and not moved for each.
//
// Invariant: looked_at is not later than the deadline last told. One thread at a time: the engine.
template <class T>
class TimerHeap {
 public:
  // So that deadlines of so many objects need no memory.
  void Reserve(size_t objects) {
    if (objects > heap_.capacity()) heap_.reserve(std::max(objects, 2 * heap_.capacity()));
  }

  // The deadline of `object` is now `at`.
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

  // When to call TakeDue: the earliest time that was told, or one that was and is no more.
  [[nodiscard]] Time next() const {
    return heap_.empty() ? Time::Never() : heap_.front()->looked_at;
  }

  // One whose time has come, taken out; nullptr if there is none. Its deadline must be told again.
  [[nodiscard]] T* TakeDue(Time now) {
    if (heap_.empty() || heap_.front()->looked_at > now) return nullptr;
    TimerHook* const hook = heap_.front();
    RemoveAt(0);
    return static_cast<T*>(hook);
  }

  // It is about to be destroyed.
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
