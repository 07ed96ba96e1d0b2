#pragma once

#include <utility>

#include "adapter/error.h"
#include "base/time.h"
#include "fabric/file_descriptor.h"

namespace verbena::adapter {

// A file that becomes readable at a time: a timerfd. To set it costs a system call, so it is only
// ever set earlier; who it wakes for nothing sets it anew.
//
// Its owner guards it; the file may be waited for by any thread.
class Alarm {
 public:
  [[nodiscard]] static ErrorOr<Alarm> Make();

  [[nodiscard]] int fd() const { return file_.get(); }

  // Readable at this time, or earlier. Never changes nothing.
  void WakeBy(Time time);
  // It has gone off: not readable, and not set.
  void Reset();

  [[nodiscard]] Time set_to() const { return set_to_; }

 private:
  explicit Alarm(fabric::FileDescriptor file) : file_(std::move(file)) {}

  fabric::FileDescriptor file_;
  Time set_to_ = Time::Never();
};

}  // namespace verbena::adapter
