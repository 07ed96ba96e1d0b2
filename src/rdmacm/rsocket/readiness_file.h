#pragma once

#include "base/event_file.h"
#include "base/file_descriptor.h"
#include "rdmacm/rsocket/errno.h"

namespace verbena::rsockets {

// The descriptor of a socket: an epoll file that is readable when a completion has arrived on one
// of the added channels since they were armed, or when the state of the socket has changed. rpoll
// and blocking calls wait for it.
//
// Any thread.
class ReadinessFile {
 public:
  [[nodiscard]] static ErrnoOr<ReadinessFile> Open();

  [[nodiscard]] int fd() const { return epoll_.get(); }
  [[nodiscard]] ErrnoOr<void> Add(int fd) const;
  void Remove(int fd) const;
  // Moves the descriptor to the lowest free number, if the process may open another one. To be
  // called before the program or another thread uses the descriptor.
  void Renumber();

  // Makes the descriptor readable until Clear.
  void Signal() const { changed_.Signal(); }
  void Clear() const { static_cast<void>(changed_.TryWait()); }

 private:
  ReadinessFile(FileDescriptor epoll, EventFile changed)
      : epoll_(std::move(epoll)), changed_(std::move(changed)) {}

  FileDescriptor epoll_;
  EventFile changed_;
};

}  // namespace verbena::rsockets
