#pragma once

#include <cstdint>

#include "base/time.h"

namespace verbena::transport {

// The retries of a requester and its timers. IBA 9.9.2.1.1: one counter for lost packets (timeouts,
// sequence errors, missing responses), another for RNR NAKs; both are reset whenever the peer
// acknowledges something.
//
// A timeout that is noticed late shows that this process did not run, and a peer on the same
// machine probably did not run either. The retry after it is free, up to retry_count times: a peer
// that is gone is given up after at most twice as many retries.
//
// A value type, owned by a requester.
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

  // The deadline has passed, and everything that had arrived was read: the next retry is due.
  void OnTimeout(Time now) {
    constexpr int64_t kLatePart = 4;
    const bool is_late = now - deadline_ > ack_timeout_ / kLatePart;
    StopTimer();
    if (!is_late || free_left_ == 0) return;
    --free_left_;
    ++retries_left_;
  }

  // Takes one retry; false if none is left.
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

  // Starts the ACK timeout of the outstanding requests.
  void StartTimer(Time now) {
    deadline_ = ack_timeout_ == Duration::Max() ? Time::Never() : now + ack_timeout_;
  }
  void StopTimer() { deadline_ = Time::Never(); }
  bool timer_runs() const { return deadline_ != Time::Never(); }

  // Stops the timer: the requester sends nothing before `until`.
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
  uint8_t free_left_ = 0;           // retries after late timeouts that do not count
  Time deadline_ = Time::Never();   // of the ACK timeout
  Time resume_at_ = Time::Never();  // end of the wait after an RNR NAK
};

}  // namespace verbena::transport
