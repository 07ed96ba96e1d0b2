#pragma once

#include <atomic>
#include <cstddef>

#include "base/check.h"

namespace verbena::adapter {

// What an object needs to stand in a ReadyList; a base of it.
struct ReadyHook {
  std::atomic<bool> is_marked = false;
  ReadyHook* next_marked = nullptr;  // written by the thread that marked it
};

// What an object needs to stand in a RunQueue; a base of it.
struct RunHook {
  RunHook* next_to_run = nullptr;
  bool is_queued = false;
};

// Queue pairs that have something to do, marked by any thread without the engine's lock: a stack of
// which the engine takes all at once. A queue pair that is marked already is not marked twice.
//
// Invariant: who has changed is_marked to true pushes it, and no other thread does until the engine
// has changed it back; so next_marked has one writer. The engine changes it back before it looks at
// the work, so that work posted after that look marks it anew.
//
// Thread rule: any thread marks; the engine, one thread at a time, takes.
template <class T>
class ReadyList {
 public:
  // True if it was not marked before.
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

  // Calls fn(T&) for all that are marked, and marks them no more.
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
  // In the order in which they were marked: who came first is served first.
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
// Invariant: is_queued is true of exactly those in the list. One thread at a time: the engine.
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

  // Takes it out wherever it stands: it is about to be destroyed.
  void Remove(T& object) {
    RunHook& hook = object;
    if (!hook.is_queued) return;
    RunHook* before = nullptr;
    for (RunHook* at = first_; at != &hook; at = at->next_to_run) {
      CHECK(at != nullptr);  // queued, and not in this list
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
