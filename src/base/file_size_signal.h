#pragma once

#include <csignal>

namespace verbena {

// While an object of this class exists, a call that would make a file longer than the user's limit
// (ulimit -f) only fails with EFBIG. Without it the system also sends SIGXFSZ, which ends the
// program.
//
// Checking the limit beforehand is not enough: another process can lengthen the file meanwhile, or
// another thread lower the limit.
//
// Works for the thread that constructs it. Lives for a few calls only.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;
  // Leaves errno alone.
  ~NoFileSizeSignal();

 private:
  sigset_t before_;
  bool was_pending_ = false;  // SIGXFSZ was pending before; it stays pending
};

}  // namespace verbena
