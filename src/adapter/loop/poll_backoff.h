#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/time.h"

namespace verbena::adapter {

// What a polling thread does while its polls find nothing, so that a peer, the progress thread or
// any other work on the same core gets its turn. It spins for a bounded time; then, with every
// further poll, it yields the processor or naps: sleeps on the sockets for a moment.
// docs/threading.md has the figures.
//
// How long it spins. For kSpin, if that has found something or if no other thread wants the core.
// If what it waited for came after others had run, half as long the next time, down to not at all:
// the peer is probably on this core and waits for us. Every kProbe-th time it tries kSpin again.
//
// Whether it yields or naps. It yields, until a yield costs a whole time slice of another thread:
// then that thread will take as much whenever it gets the core, and a nap is better, because the
// scheduler lets a thread that wakes up go first. It naps for the next kNapsMin waits and then
// yields once to see whether that work is still there; if it is, for four times as many, up to
// kNapsMax.
//
// A value; each thread has its own. The times are the caller's.
class PollBackoff {
 public:
  // Longer than the round trip of a small message to a peer that runs (4 to 10 us).
  static constexpr Duration kSpin = Microseconds(16);
  // A yield that returns sooner found no thread to run.
  static constexpr Duration kTaken = Microseconds(2);
  // A yield that returns later met a thread that does not give the core back by itself.
  static constexpr Duration kShared = Microseconds(200);
  // The program did something else between two polls that are further apart.
  static constexpr Duration kGap = Microseconds(5);
  // Completions that another thread brings meanwhile wait for the end of a nap.
  static constexpr Duration kNap = Microseconds(50);
  static constexpr uint32_t kNapsMin = 8;
  static constexpr uint32_t kNapsMax = 1'024;
  static constexpr uint32_t kProbe = 32;
  // So many posts without an empty poll between are those of a thread that does not poll.
  static constexpr uint32_t kPostsMax = 128;

  enum class Step : uint8_t { kSpin, kYield, kNap };

  // The thread found a completion or posted a request. True if it had given way before.
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

  // The thread posts a request. True if it also polls, for what it has posted before.
  [[nodiscard]] bool OnPost() { return ++posts_ <= kPostsMax; }

  // A poll found nothing: what to do before the next one.
  [[nodiscard]] Step OnEmpty(Time now) {
    posts_ = 0;
    if (idle_since_ == Time::Never() || now - last_ > kGap) Begin(now);
    last_ = now;
    if (now - idle_since_ < limit_) return Step::kSpin;
    yielded_ = true;
    return naps_left_ == 0 ? Step::kYield : Step::kNap;
  }

  // What kYield came to. `was_preempted` says whether another thread ran, and is asked only if it
  // looks like a whole time slice.
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

 private:
  void Begin(Time now) {
    idle_since_ = now;
    others_ran_ = false;
    limit_ = ++waits_ % kProbe == 0 ? kSpin : spin_;
    if (naps_left_ > 0) --naps_left_;
  }

  Duration spin_ = kSpin;
  Duration limit_;  // of this wait
  uint32_t waits_ = 0;
  uint32_t posts_ = kPostsMax;       // since the last empty poll; no poll so far
  bool yielded_ = false;             // in this wait
  bool others_ran_ = false;          // when it did
  Time idle_since_ = Time::Never();  // first of the empty polls in a row
  Time last_;
  uint32_t naps_ = 0;       // waits in a row, the last time
  uint32_t naps_left_ = 0;  // waits, this one among them
};

}  // namespace verbena::adapter
