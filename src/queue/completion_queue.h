#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/mutex.h"
#include "base/result.h"
#include "base/time.h"
#include "queue/completion.h"

namespace verbena::queue {

enum class CqError : uint8_t {
  kOverflow,  // a completion was lost; the queue is of no further use
  kTooSmall,  // the queue holds more entries than the new capacity
};

// A completion queue: the engine pushes, programs poll.
//
// Events. Arm requests one event, for the next completion of the wanted kind that is pushed. Error
// completions count as solicited, and a queue armed for all stays so when it is armed for solicited
// ones (IBA 11.4.2.2). Completions that are in the queue already raise no event. So a program that
// wants to sleep arms the queue and then polls once more, and no wake-up is lost:
//
//   Push:     P1 tail_ := tail + 1    P2 read arm_
//   program:  A1 arm_ := wanted       A2 read tail_ (poll)
//
// All four are sequentially consistent. If P2 does not see A1, P2 comes before A1 and hence P1
// before A2, which finds the completion; otherwise the event is due. Only the engine disarms, just
// before it raises the event, so an Arm that it overwrites is followed by that event.
//
// Moderation. With (count, period) an event waits until `count` completions of the wanted kind were
// pushed, or until `period` has passed since the first of them. The queue has no clock: it names
// the deadline, and the engine calls OnTime then.
//
// Invariant: positions head_ to tail_ hold entries, at most capacity() of them.
//
// Thread rule: any thread polls and arms; pollers exclude each other with a mutex (see WorkQueue).
// The engine, one thread at a time, calls the rest; Push and OnTime take no lock. Resize and
// RemoveQp exclude pollers, and so must not be called between StartPoll and EndPoll.
class CompletionQueue {  // NOLINT(clang-analyzer-optin.performance.Padding): on purpose
 public:
  enum class PushStatus : uint8_t {
    kStored,
    kOverflowed,  // this push overflowed the queue: raise the CQ error event
    kInError,     // an earlier push did
  };
  struct PushResult {
    PushStatus status = PushStatus::kStored;
    bool event_now = false;
    Time event_at = Time::Never();  // when to call OnTime, unless the event is due now
  };
  enum class Wanted : uint8_t { kSolicited = 1, kAll = 2 };

  // Holds `capacity` entries or more.
  explicit CompletionQueue(size_t capacity);
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  // Adds a completion with the time `now`. `solicited`: its message requested an event.
  PushResult Push(const Completion& completion, bool solicited, Time now);

  // True if the event that moderation delays is due: raise it.
  [[nodiscard]] bool OnTime(Time now);
  [[nodiscard]] Time deadline() const;

  // A count up to 1 or no period turns moderation off. Call OnTime afterwards: a delayed event may
  // be due by the new setting.
  void SetModeration(uint32_t count, Duration period);

  // Keeps the entries. Fails if `capacity` is less than their number, or after an overflow.
  [[nodiscard]] Result<void, CqError> Resize(size_t capacity) VERBENA_EXCLUDES(poll_mutex_);

  // While set, completions that find no room are dropped and the queue does not overflow: a queue
  // pair that is about to be removed flushes its work, for completions that are never polled.
  void set_discards(bool discards) { discards_ = discards; }

  // Drops the entries of a queue pair that was removed; returns their number.
  size_t RemoveQp(QpNumber qp) VERBENA_EXCLUDES(poll_mutex_);

  // Moves the oldest entries into `out` and returns their number. After an overflow it fails with
  // kOverflow once there are no more entries.
  [[nodiscard]] Result<size_t, CqError> Poll(std::span<Completion> out)
      VERBENA_EXCLUDES(poll_mutex_);

  // Reads entries in place: StartPoll returns the oldest, NextPoll the one after it, EndPoll
  // removes those that were returned. nullptr if there are no more. If StartPoll returns an entry,
  // the same thread must call EndPoll, and other pollers wait until then; otherwise it must not.
  [[nodiscard]] Result<const Completion*, CqError> StartPoll();
  [[nodiscard]] const Completion* NextPoll();
  void EndPoll();

  void Arm(Wanted wanted) { arm_.fetch_or(static_cast<uint8_t>(wanted)); }

  [[nodiscard]] size_t size() const;
  // For the engine, or while no Resize can happen.
  [[nodiscard]] size_t capacity() const { return mask_ + 1; }
  [[nodiscard]] bool overflowed() const { return overflowed_.load(std::memory_order_acquire); }

  // For the engine.
  [[nodiscard]] bool IsConsistent() const VERBENA_EXCLUDES(poll_mutex_);

 private:
  bool IsDue(Time now) const;

  // Written by the engine under poll_mutex_: the engine or a holder of the mutex can read them.
  uint64_t mask_;
  std::unique_ptr<Completion[]> slots_;

  // Used by the engine.
  alignas(64) std::atomic<uint64_t> tail_ = 0;
  std::atomic<bool> overflowed_ = false;
  bool discards_ = false;
  uint32_t moderation_count_ = 1;
  Duration moderation_period_;
  uint32_t waiting_count_ = 0;  // completions since the last event that count for the next one
  Time waiting_since_;

  // Used by the pollers.
  alignas(64) mutable Mutex poll_mutex_;
  std::atomic<uint64_t> head_ = 0;                          // written under poll_mutex_
  uint64_t shown_end_ VERBENA_GUARDED_BY(poll_mutex_) = 0;  // after the last entry returned
  std::atomic<uint8_t> arm_ = 0;                            // bits of Wanted
};

}  // namespace verbena::queue
