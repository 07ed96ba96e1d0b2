#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/time.h"

namespace verbena::adapter {

// The back-off of a poller while its polls find nothing, so that a peer, the progress thread or any
// other work gets the core. The poller spins for a bounded time; then, with every further poll, it
// yields the processor or naps, that is, sleeps on the sockets for kNap. docs/threading.md has the
// figures.
//
// Spin time. kSpin, if the last wait ended while spinning or if no other thread wants the core. A
// completion that comes after other threads have run halves it, down to zero: the peer is probably
// on this core and waits for the poller. Every kProbe-th wait tries kSpin again.
//
// Yield or nap. The poller yields until a yield costs a whole time slice of another thread. That
// thread will use up a slice whenever it gets the core, so a nap is better: the scheduler prefers a
// thread that wakes up. The poller naps for the next kNapsMin waits and then yields once to see
// whether the other work is still there; if so, it naps for four times as many waits, up to
// kNapsMax.
//
// A value type; each thread has its own. The caller reads the clock.
class PollBackoff {
 public:
  // Longer than the round trip of a small message to a peer that is running (4 to 10 us).
  static constexpr Duration kSpin = Microseconds(16);
  // A yield that returns sooner found no thread to run.
  static constexpr Duration kTaken = Microseconds(2);
  // A yield that returns later met a thread that does not give the core back by itself.
  static constexpr Duration kShared = Microseconds(200);
  // If two polls are further apart than this and the time that a poll takes, the program did
  // something else between them.
  static constexpr Duration kGap = Microseconds(5);
  // One of so many empty polls is timed.
  static constexpr uint32_t kTimed = 64;
  // Short, because completions that another thread adds wait for the end of a nap.
  static constexpr Duration kNap = Microseconds(50);
  // Longer than a pass, and shorter than a time slice.
  static constexpr Duration kHeld = Microseconds(50);
  static constexpr uint32_t kNapsMin = 8;
  static constexpr uint32_t kNapsMax = 1'024;
  static constexpr uint32_t kProbe = 32;
  // A thread that makes more posts than this without an empty poll or an event between them does
  // not count as one that comes back.
  static constexpr uint32_t kPostsMax = 128;

  enum class Step : uint8_t { kSpin, kYield, kNap };

  // The thread found a completion or posted a request. True if it yielded or napped in this wait.
  bool OnWork() {
    if (idle_since_ == Time::Never()) return false;
    idle_since_ = Time::Never();
    if (!others_ran_) {
      spin_ = kSpin;
    } else {
      spin_ = spin_ > Microseconds(1) ? spin_ / 2 : Duration();
    }
    return std::exchange(yielded_, false);
  }

  // The thread posts a request. True if it also polls or waits for events: see kPostsMax. Counts
  // instead of reading the clock, which takes a system call on some machines.
  [[nodiscard]] bool OnPost() { return ++posts_ <= kPostsMax; }
  // The thread has waited for an event, and probably waits for the next one soon.
  void OnEvent() { posts_ = 0; }

  // A poll found nothing. Returns what to do before the next one.
  [[nodiscard]] Step OnEmpty(Time now) {
    posts_ = 0;
    if (idle_since_ == Time::Never() || now - last_ > kGap + cost_) Begin(now);
    last_ = now;
    if (now - idle_since_ < limit_) return Step::kSpin;
    yielded_ = true;
    return naps_left_ == 0 ? Step::kYield : Step::kNap;
  }

  // Whether to time the empty poll that has begun, and how long it took. A poll takes 0.5 us, or 20
  // where each system call and each look at the clock takes 5. A single long one, in which other
  // threads ran, counts little.
  [[nodiscard]] bool WantsTime() { return empty_polls_++ % kTimed == 0; }
  void OnTimed(Duration took) { cost_ = std::min(took, cost_ * 2 + Microseconds(1)); }

  // Reports how long a yield took. `was_preempted` returns whether another thread ran; it is only
  // called if the yield took about a whole time slice.
  template <class Fn>
  void OnYielded(Time before, Time after, Fn was_preempted) {
    const Duration took = after - before;
    last_ = after;
    if (took < kTaken) {
      naps_ = 0;
      return;
    }
    others_ran_ = true;
    if (took <= kShared || !was_preempted()) return;
    naps_ = std::clamp(naps_ * 4, kNapsMin, kNapsMax);
    naps_left_ = naps_;
  }
  void OnNapped(Time after) {
    last_ = after;
    others_ran_ = true;
  }
  // The empty poll met another thread of the process that had the engine's lock, in this hold of
  // it. True if the poller should sleep until the lock is free: the hold has lasted for kHeld, so
  // the holder was preempted or is stuck. A packet that the poller cannot take would end each nap
  // at once, and a holder on the same core would get it only at the end of the poller's time slice.
  // A hold of one pass is shorter than such a sleep.
  [[nodiscard]] bool OnTaken(uint64_t hold, Time now) {
    if (std::exchange(hold_, hold) != hold) hold_seen_ = now;
    return now - hold_seen_ >= kHeld;
  }
  // The poller has slept for that reason, which tells nothing about other work on this core.
  void OnLockFree(Time after) { last_ = after; }

 private:
  void Begin(Time now) {
    idle_since_ = now;
    others_ran_ = false;
    limit_ = ++waits_ % kProbe == 0 ? kSpin : spin_;
    if (naps_left_ > 0) --naps_left_;
  }

  Duration spin_ = kSpin;
  Duration limit_;  // of this wait
  Duration cost_;   // of an empty poll
  uint32_t empty_polls_ = 0;
  uint32_t waits_ = 0;
  uint32_t posts_ = kPostsMax;       // since the last empty poll or event; initially without either
  bool yielded_ = false;             // in this wait
  bool others_ran_ = false;          // in a yield or nap of this wait
  Time idle_since_ = Time::Never();  // first of the empty polls in a row
  Time last_;
  uint32_t naps_ = 0;           // length of the last series of waits with naps
  uint64_t hold_ = UINT64_MAX;  // that the last empty poll met
  Time hold_seen_;              // when a poll met it first
  uint32_t naps_left_ = 0;      // waits of the current series that are left, including this one
};

}  // namespace verbena::adapter
