#include "rdmacm/rsocket/socket.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/clock.h"
#include "rdmacm/rsocket/limits.h"

namespace verbena::rsockets {
namespace {

// For poll: rounded up, so that no call returns too early.
int MillisecondsUntil(Time deadline) {
  if (deadline == Time::Never()) return -1;
  const int64_t ns = (deadline - Now()).nanoseconds();
  return static_cast<int>(
      std::clamp<int64_t>((ns + 999'999) / 1'000'000, 0, std::numeric_limits<int>::max()));
}

}  // namespace

ErrnoOr<off_t> Socket::Map(void*, std::size_t, int, off_t) { return Fail(Errno{EOPNOTSUPP}); }
ErrnoOr<void> Socket::Unmap(void*, std::size_t) { return Fail(Errno{EOPNOTSUPP}); }
ErrnoOr<std::size_t> Socket::WriteDirect(std::span<const std::byte>, off_t, int) {
  return Fail(Errno{EOPNOTSUPP});
}

bool Socket::MayBlock(int flags) const {
  return (flags & MSG_DONTWAIT) == 0 && (status_flags() & O_NONBLOCK) == 0;
}

void Socket::Announce() {
  readiness_.Signal();
  watchers_.Notify();
}

ErrnoOr<void> Socket::WaitUntil(const std::function<bool(bool arm)>& ready, Time deadline) {
  const Time spin_end = std::min(Now() + kSpinTime, deadline);
  do {
    if (ready(/*arm=*/false)) return {};
  } while (Now() < spin_end);
  const Watch watch(watchers_);
  for (;;) {
    watch.waker().Drain();
    if (ready(/*arm=*/true)) return {};
    if (Now() >= deadline) return Fail(Errno{ETIMEDOUT});
    std::array<pollfd, 2> files{pollfd{.fd = descriptor(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = watch.waker().fd(), .events = POLLIN, .revents = 0}};
    if (poll(files.data(), files.size(), MillisecondsUntil(deadline)) < 0) {
      return Fail(LastErrno());
    }
    if (files[0].revents != 0) OnDescriptorReadable();
  }
}

ErrnoOr<void> Socket::Await(int flags, const std::function<bool(bool arm)>& ready) {
  if (MayBlock(flags)) return WaitUntil(ready);
  // Without arming: otherwise a program that retries would pay for an event per completion.
  if (ready(/*arm=*/false)) return {};
  return Fail(Errno{EAGAIN});
}

std::size_t SizeOf(IoVector buffers) {
  std::size_t size = 0;
  for (const iovec& buffer : buffers) size += buffer.iov_len;
  return size;
}

}  // namespace verbena::rsockets
