#pragma once

#include <cstdint>

#include "base/time.h"

namespace verbena::transport {

// How often a requester has tried, and when it tries again. IBA 9.9.2.1.1: one counter for packets
// that were lost (timeouts, sequence errors, missing responses), another for receivers that were
// not ready; both start anew whenever the peer acknowledges something.
//
// A timeout that is noticed late says less about the peer than about this process, which did not
// run, and a peer on the same machine probably did not either. Such a try does not count, as often
// as the program allows tries at all: a peer that is gone is given up after twice as many at worst.
class RetryState {
 public:
  static constexpr uint8_t kRnrForEver = 7;

  RetryState(Duration ack_timeout, uint8_t retry_count, uint8_t rnr_retry)
      : ack_timeout_(ack_timeout), retry_count_(retry_count), rnr_retry_(rnr_retry) {
    OnProgress();
  }

  void OnProgress() {
    retries_left_ = retry_count_;
    rnr_left_ = rnr_retry_;
    free_left_ = retry_count_;
  }

  // The deadline has passed, and what had arrived by now has been read: the next try is due.
  void OnTimeout(Time now) {
    constexpr int64_t kLatePart = 4;
    const bool is_late = now - deadline_ > ack_timeout_ / kLatePart;
    StopTimer();
    if (!is_late || free_left_ == 0) return;
    --free_left_;
    ++retries_left_;
  }

  // True when one more try is allowed, which this takes.
  bool TakeRetry() {
    if (retries_left_ == 0) return false;
    --retries_left_;
    return true;
  }
  bool TakeRnrRetry() {
    if (rnr_retry_ == kRnrForEver) return true;
    if (rnr_left_ == 0) return false;
    --rnr_left_;
    return true;
  }

  // The answer to what is under way is due by then.
  void StartTimer(Time now) {
    deadline_ = ack_timeout_ == Duration::Max() ? Time::Never() : now + ack_timeout_;
  }
  void StopTimer() { deadline_ = Time::Never(); }
  bool timer_runs() const { return deadline_ != Time::Never(); }

  // Nothing is sent before `until`.
  void Wait(Time until) {
    StopTimer();
    resume_at_ = until;
  }
  void StopWaiting() { resume_at_ = Time::Never(); }
  bool is_waiting() const { return resume_at_ != Time::Never(); }

  Time deadline() const { return deadline_; }
  Time resume_at() const { return resume_at_; }
  Time next() const { return deadline_ < resume_at_ ? deadline_ : resume_at_; }

 private:
  Duration ack_timeout_;
  uint8_t retry_count_;
  uint8_t rnr_retry_;
  uint8_t retries_left_ = 0;
  uint8_t rnr_left_ = 0;
  uint8_t free_left_ = 0;           // tries after late timeouts that do not count
  Time deadline_ = Time::Never();   // of the acknowledgement
  Time resume_at_ = Time::Never();  // after an RNR NAK
};

}  // namespace verbena::transport
