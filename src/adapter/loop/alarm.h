#pragma once

#include <utility>

#include "adapter/error.h"
#include "base/time.h"
#include "fabric/file_descriptor.h"

namespace verbena::adapter {

// A file that becomes readable at a given time: a timerfd. Setting the timer costs a system call,
// so WakeBy only ever sets it to an earlier time. A thread that wakes up for a deadline that has
// moved resets the alarm and sets it again.
//
// Not thread-safe: its owner guards it. Any thread may wait for the file.
class Alarm {
 public:
  [[nodiscard]] static ErrorOr<Alarm> Make();

  [[nodiscard]] int fd() const { return file_.get(); }

  // Makes the file readable at this time or earlier. Time::Never() has no effect.
  void WakeBy(Time time);
  // Disarms the timer and makes the file unreadable. For a thread that the alarm has woken up.
  void Reset();

  [[nodiscard]] Time set_to() const { return set_to_; }

 private:
  explicit Alarm(fabric::FileDescriptor file) : file_(std::move(file)) {}

  fabric::FileDescriptor file_;
  Time set_to_ = Time::Never();
};

}  // namespace verbena::adapter
