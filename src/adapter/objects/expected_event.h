#pragma once

#include <utility>

namespace verbena::adapter {

// A thread that makes passes to get an event takes it without a system call: while it expects one,
// the channel does not signal its file for the next event. The base of channels.
//
// Under the engine's lock.
class ExpectedEvent {
 public:
  // The calling thread takes the next event itself.
  void Expect() { expects_ = true; }
  // An event was raised since Expect.
  [[nodiscard]] bool has_expected() const { return raised_; }

 protected:
  // For the channel that raises an event: false if it has to signal its file.
  [[nodiscard]] bool RaiseExpected() {
    if (!std::exchange(expects_, false)) return false;
    raised_ = true;
    return true;
  }
  // Ends Expect. True if an event was raised meanwhile.
  [[nodiscard]] bool EndExpect() {
    expects_ = false;
    return std::exchange(raised_, false);
  }

 private:
  bool expects_ = false;
  bool raised_ = false;
};

}  // namespace verbena::adapter
