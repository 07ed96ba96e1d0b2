#include "adapter/event_file.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

namespace verbena::adapter {

ErrorOr<EventFile> EventFile::Open(bool counted) {
  const int fd = eventfd(0, EFD_CLOEXEC | (counted ? EFD_SEMAPHORE : 0));
  if (fd < 0) return Fail(SystemError("eventfd"));
  return EventFile(fabric::FileDescriptor(fd));
}

void EventFile::Signal() const {
  const uint64_t one = 1;
  // It can only fail when 2^64 - 2 signals wait, and then one more makes no difference.
  [[maybe_unused]] const ssize_t written = write(fd(), &one, sizeof one);
}

bool EventFile::Wait() const {
  uint64_t count = 0;
  return read(fd(), &count, sizeof count) == sizeof count;
}

bool EventFile::TryWait() const {
  uint64_t count = 0;
  const iovec place{.iov_base = &count, .iov_len = sizeof count};
  return preadv2(fd(), &place, 1, -1, RWF_NOWAIT) == sizeof count;
}

bool EventFile::blocks() const { return (fcntl(fd(), F_GETFL) & O_NONBLOCK) == 0; }

}  // namespace verbena::adapter
