#pragma once

#include <atomic>
#include <cstddef>

#include "base/check.h"

namespace verbena::adapter {

// The base class of objects in a ReadyList.
struct ReadyHook {
  std::atomic<bool> is_marked = false;
  ReadyHook* next_marked = nullptr;  // written by the thread that marked the object
};

// The base class of objects in a RunQueue.
struct RunHook {
  RunHook* next_to_run = nullptr;
  bool is_queued = false;
};

// Queue pairs that have work. Any thread marks one, without the engine's lock: a lock-free stack,
// of which the engine takes all elements at once. A marked queue pair is in the list once.
//
// Invariant: the thread that has changed is_marked to true pushes the queue pair, and no other
// thread does so until the engine has changed it back; so next_marked has one writer. The engine
// changes it back before it checks the work, so that work posted after that check marks it again.
//
// Thread rule: any thread calls Mark and empty; the engine, one thread at a time, TakeAll.
template <class T>
class ReadyList {
 public:
  // True if the object was not marked before.
  bool Mark(T& object) {
    ReadyHook& hook = object;
    if (hook.is_marked.exchange(true)) return false;
    ReadyHook* head = head_.load(std::memory_order_relaxed);
    do {
      hook.next_marked = head;
    } while (!head_.compare_exchange_weak(head, &hook));
    return true;
  }

  [[nodiscard]] bool empty() const { return head_.load() == nullptr; }

  // Unmarks all marked objects and calls fn(T&) for each.
  template <class Fn>
  void TakeAll(Fn fn) {
    if (head_.load(std::memory_order_relaxed) == nullptr) return;
    ReadyHook* hook = Reversed(head_.exchange(nullptr));
    while (hook != nullptr) {
      ReadyHook* const next = hook->next_marked;
      DCHECK(hook->is_marked.load());
      hook->is_marked.store(false);
      fn(static_cast<T&>(*hook));
      hook = next;
    }
  }

 private:
  // The stack in the order in which the objects were marked: first come, first served.
  static ReadyHook* Reversed(ReadyHook* head) {
    ReadyHook* reversed = nullptr;
    while (head != nullptr) {
      ReadyHook* const next = head->next_marked;
      head->next_marked = reversed;
      reversed = head;
      head = next;
    }
    return reversed;
  }

  std::atomic<ReadyHook*> head_ = nullptr;
};

// Queue pairs that are to run in this or the next pass, first in, first out; each at most once.
//
// Invariant: is_queued is true for exactly the objects in the queue. One thread at a time: the
// engine.
template <class T>
class RunQueue {
 public:
  void Push(T& object) {
    RunHook& hook = object;
    if (hook.is_queued) return;
    hook.is_queued = true;
    hook.next_to_run = nullptr;
    (first_ == nullptr ? first_ : last_->next_to_run) = &hook;
    last_ = &hook;
    ++size_;
  }

  // nullptr when empty.
  [[nodiscard]] T* front() const { return static_cast<T*>(first_); }
  T* Pop() {
    if (first_ == nullptr) return nullptr;
    RunHook* const hook = first_;
    DCHECK(hook->is_queued && size_ > 0);
    first_ = hook->next_to_run;
    hook->is_queued = false;
    --size_;
    return static_cast<T*>(hook);
  }

  // Removes an object that is about to be destroyed, from any place.
  void Remove(T& object) {
    RunHook& hook = object;
    if (!hook.is_queued) return;
    RunHook* before = nullptr;
    for (RunHook* at = first_; at != &hook; at = at->next_to_run) {
      CHECK(at != nullptr);  // else the object is queued, but not in this queue
      before = at;
    }
    (before == nullptr ? first_ : before->next_to_run) = hook.next_to_run;
    if (last_ == &hook) last_ = before;
    hook.is_queued = false;
    --size_;
  }

  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] size_t size() const { return size_; }

  [[nodiscard]] bool IsConsistent() const {
    size_t count = 0;
    const RunHook* last = nullptr;
    for (const RunHook* at = first_; at != nullptr; at = at->next_to_run) {
      if (!at->is_queued || ++count > size_) return false;
      last = at;
    }
    return count == size_ && (last == nullptr || last == last_);
  }

 private:
  RunHook* first_ = nullptr;
  RunHook* last_ = nullptr;  // meaningless while empty
  size_t size_ = 0;
};

}  // namespace verbena::adapter
