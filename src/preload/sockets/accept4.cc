#include <fcntl.h>
#include <sys/socket.h>

// accept4 by means of accept and fcntl, for programs whose sockets are rsockets. librspreload
// interposes those two but not accept4, so a call would reach the kernel with a descriptor that is
// no socket there.
extern "C" __attribute__((visibility("default"))) int accept4(int fd, sockaddr* address,
                                                              socklen_t* bytes, int flags) {
  const int accepted = accept(fd, address, bytes);
  if (accepted < 0) return accepted;
  if ((flags & SOCK_NONBLOCK) != 0) fcntl(accepted, F_SETFL, O_NONBLOCK);
  if ((flags & SOCK_CLOEXEC) != 0) fcntl(accepted, F_SETFD, FD_CLOEXEC);
  return accepted;
}
