#pragma once

#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace verbena {

// An eventfd, which a program can poll and wait for.
//
// Any thread, at any time.
class EventFile {
 public:
  // `counted`: each Wait takes one signal (EFD_SEMAPHORE); otherwise a Wait takes all pending
  // signals.
  [[nodiscard]] static ErrorOr<EventFile> Open(bool counted);

  [[nodiscard]] int fd() const { return file_.get(); }

  void Signal() const;
  // Takes a signal. Blocks unless the program has set O_NONBLOCK on the descriptor. False, with
  // errno set, if there is no signal (EAGAIN) or if a signal handler interrupted the wait (EINTR):
  // programs end a wait in this way.
  [[nodiscard]] bool Wait() const;
  // As Wait, but never blocks.
  [[nodiscard]] bool TryWait() const;
  // Whether Wait blocks: false once the program has set O_NONBLOCK.
  [[nodiscard]] bool blocks() const;
  // REQUIRES: no thread signals or waits any more.
  void Close() { file_ = {}; }

 private:
  explicit EventFile(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace verbena
