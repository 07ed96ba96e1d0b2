#pragma once

#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace verbena {

// A counter that a program can wait for: an eventfd. Each Signal is one Wait.
//
// Any thread, at any time.
class EventFile {
 public:
  // `counted`: each Wait takes one signal; otherwise it takes all that there are.
  [[nodiscard]] static ErrorOr<EventFile> Open(bool counted);

  [[nodiscard]] int fd() const { return file_.get(); }

  void Signal() const;
  // Takes a signal. Blocks as the descriptor says; false if there is none to be had, or if the
  // thread had something else to handle meanwhile: programs end their waiting so. errno says which.
  [[nodiscard]] bool Wait() const;
  // The same, and never blocks.
  [[nodiscard]] bool TryWait() const;
  // Whether Wait blocks: as the program has it.
  [[nodiscard]] bool blocks() const;
  // REQUIRES: no thread signals or waits any more.
  void Close() { file_ = {}; }

 private:
  explicit EventFile(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace verbena
