#include "base/event_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace verbena {

ErrorOr<EventFile> EventFile::Open(bool counted) {
  const int fd = eventfd(0, EFD_CLOEXEC | (counted ? EFD_SEMAPHORE : 0));
  if (fd < 0) return Fail(SystemError("eventfd"));
  return EventFile(FileDescriptor(fd));
}

void EventFile::Signal() const {
  const uint64_t one = 1;
  // The write can only fail when 2^64 - 2 signals wait, and then one more makes no difference.
  [[maybe_unused]] const ssize_t written = write(fd(), &one, sizeof one);
}

bool EventFile::Wait() const {
  uint64_t count = 0;
  return read(fd(), &count, sizeof count) == sizeof count;
}

bool EventFile::TryWait() const {
  uint64_t count = 0;
  const iovec place{.iov_base = &count, .iov_len = sizeof count};
  if (preadv2(fd(), &place, 1, -1, RWF_NOWAIT) == sizeof count) return true;
  if (errno != EOPNOTSUPP) return false;
  // Linux before 5.8 does not know RWF_NOWAIT for an eventfd. If two threads find the file
  // readable, the slower one sleeps in Wait until the next signal.
  pollfd file{.fd = fd(), .events = POLLIN, .revents = 0};
  return poll(&file, 1, 0) > 0 && Wait();
}

bool EventFile::blocks() const { return (fcntl(fd(), F_GETFL) & O_NONBLOCK) == 0; }

}  // namespace verbena
