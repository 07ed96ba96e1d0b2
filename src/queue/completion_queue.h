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
  kTooSmall,  // there are more entries than that
};

// A completion queue: the engine pushes, programs poll.
//
// Events. Arm asks for one event, when the next completion of the wanted kind is pushed; error
// completions count as solicited, and a wish for all outlasts one for solicited only (IBA
// 11.4.2.2). Completions that are in the queue already raise nothing. So a program that wants to
// sleep arms and then polls once more, and no wake-up is lost:
//
//   Push:     P1 tail_ := tail + 1    P2 read arm_
//   program:  A1 arm_ := wanted       A2 read tail_ (poll)
//
// All four are sequentially consistent. If P2 misses A1 it comes before it, hence P1 before A2,
// which finds the completion; otherwise the event is due. Only the engine disarms, just before the
// event is raised, so an Arm that it wipes out is followed by that event.
//
// Moderation. With (count, period) an event waits until `count` completions have asked for it or
// `period` has passed since the first that did. The queue has no clock: it names the deadline, and
// OnTime is called then.
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
    kOverflowed,  // by this very push: raise the CQ error event
    kInError,     // since earlier
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

  // Adds a completion and stamps it. `solicited`: it is of a message that asked for an event.
  PushResult Push(const Completion& completion, bool solicited, Time now);

  // True when the event that moderation held back is due: raise it.
  [[nodiscard]] bool OnTime(Time now);
  [[nodiscard]] Time deadline() const;

  // A count up to 1 or no period turns moderation off. Call OnTime afterwards: an event that waits
  // may be due by the new measure.
  void SetModeration(uint32_t count, Duration period);

  // Keeps the entries. Refused below their number, or after an overflow.
  [[nodiscard]] Result<void, CqError> Resize(size_t capacity) VERBENA_EXCLUDES(poll_mutex_);

  // While it discards, what finds no room is dropped and not missed: a queue pair that is about to
  // be removed gives back all that it holds, for completions that are never polled.
  void set_discards(bool discards) { discards_ = discards; }

  // Drops the entries of a queue pair that is no more; how many they were.
  size_t RemoveQp(QpNumber qp) VERBENA_EXCLUDES(poll_mutex_);

  // Moves the oldest entries into `out`; how many. After an overflow kOverflow takes the place of
  // 0.
  [[nodiscard]] Result<size_t, CqError> Poll(std::span<Completion> out)
      VERBENA_EXCLUDES(poll_mutex_);

  // Reads entries in place: StartPoll shows the oldest, NextPoll the one after, EndPoll removes
  // those that were shown. nullptr when there are no more. Unless StartPoll shows an entry there is
  // nothing to end; if it does, other pollers wait for EndPoll, which the same thread must call.
  [[nodiscard]] Result<const Completion*, CqError> StartPoll();
  [[nodiscard]] const Completion* NextPoll();
  void EndPoll();

  void Arm(Wanted wanted) { arm_.fetch_or(static_cast<uint8_t>(wanted)); }

  [[nodiscard]] size_t size() const;
  // By the engine, or where no Resize can happen.
  [[nodiscard]] size_t capacity() const { return mask_ + 1; }
  [[nodiscard]] bool overflowed() const { return overflowed_.load(std::memory_order_acquire); }

  // By the engine.
  [[nodiscard]] bool IsConsistent() const VERBENA_EXCLUDES(poll_mutex_);

 private:
  bool IsDue(Time now) const;

  // Changed by the engine under poll_mutex_, so that either of them is enough to read them.
  uint64_t mask_;
  std::unique_ptr<Completion[]> slots_;

  // The engine's.
  alignas(64) std::atomic<uint64_t> tail_ = 0;
  std::atomic<bool> overflowed_ = false;
  bool discards_ = false;
  uint32_t moderation_count_ = 1;
  Duration moderation_period_;
  uint32_t waiting_count_ = 0;  // completions that the next event is for
  Time waiting_since_;

  // The pollers'.
  alignas(64) mutable Mutex poll_mutex_;
  std::atomic<uint64_t> head_ = 0;                          // written under poll_mutex_
  uint64_t shown_end_ VERBENA_GUARDED_BY(poll_mutex_) = 0;  // behind the entry shown last
  std::atomic<uint8_t> arm_ = 0;                            // bits of Wanted
};

}  // namespace verbena::queue
