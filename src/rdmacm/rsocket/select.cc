#include "rdmacm/rsocket/select.h"

#include <poll.h>

#include <vector>

#include "rdmacm/rsocket/poll.h"

namespace verbena::rsockets {
namespace {

// Which results of poll put a descriptor into which set (Linux, fs/select.c).
constexpr short kReadable = POLLIN | POLLRDNORM | POLLHUP | POLLERR;
constexpr short kWritable = POLLOUT | POLLWRNORM | POLLERR;
constexpr short kExceptional = POLLPRI;

bool IsSet(int fd, const fd_set* set) { return set != nullptr && FD_ISSET(fd, set); }

}  // namespace

ErrnoOr<int> Select(const SocketTable& table, int count, fd_set* readable, fd_set* writable,
                    fd_set* exceptional, Duration timeout) {
  if (count < 0 || count > FD_SETSIZE) return Fail(Errno{EINVAL});
  std::vector<pollfd> files;
  for (int fd = 0; fd < count; ++fd) {
    const int events = (IsSet(fd, readable) ? POLLIN : 0) | (IsSet(fd, writable) ? POLLOUT : 0) |
                       (IsSet(fd, exceptional) ? POLLPRI : 0);
    if (events != 0)
      files.push_back({.fd = fd, .events = static_cast<short>(events), .revents = 0});
  }
  const auto found = Poll(table, files, timeout);
  if (!found) return found;
  int bits = 0;
  const auto keep = [&](const pollfd& file, fd_set* set, short mask) {
    if (!IsSet(file.fd, set)) return;
    if ((file.revents & mask) != 0) {
      ++bits;
    } else {
      FD_CLR(file.fd, set);
    }
  };
  for (const pollfd& file : files) {
    if ((file.revents & POLLNVAL) != 0) return Fail(Errno{EBADF});
    keep(file, readable, kReadable);
    keep(file, writable, kWritable);
    keep(file, exceptional, kExceptional);
  }
  return bits;
}

}  // namespace verbena::rsockets
