#pragma once

#include <csignal>

namespace verbena {

// While it is, a file of ours that would become longer than the user allows (ulimit -f) is refused
// with EFBIG and no more: the system also sends SIGXFSZ, which would end the program.
//
// To ask for the limit first would not do: another process may lengthen the file meanwhile, or
// another thread lower the limit.
//
// Of the thread that made it, for a few calls.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;
  // Leaves errno alone.
  ~NoFileSizeSignal();

 private:
  sigset_t before_;
  bool was_pending_ = false;  // sent by another sender, for the program to take
};

}  // namespace verbena
