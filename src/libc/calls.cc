#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>

#include "libc/call.h"

// A hidden function with the name of the C library's: the linker binds the library's calls to it.
#define VERBENA_LIBC_CALL extern "C" __attribute__((visibility("hidden")))

using verbena::libc::Call;

// Sockets.

VERBENA_LIBC_CALL int socket(int domain, int type, int protocol) noexcept {
  static constinit Call<int(int, int, int)> call("socket");
  return call(domain, type, protocol);
}

VERBENA_LIBC_CALL int bind(int fd, const sockaddr* address, socklen_t bytes) noexcept {
  static constinit Call<int(int, const sockaddr*, socklen_t)> call("bind");
  return call(fd, address, bytes);
}

VERBENA_LIBC_CALL int listen(int fd, int backlog) noexcept {
  static constinit Call<int(int, int)> call("listen");
  return call(fd, backlog);
}

VERBENA_LIBC_CALL int accept(int fd, sockaddr* address, socklen_t* bytes) {
  static constinit Call<int(int, sockaddr*, socklen_t*)> call("accept");
  return call(fd, address, bytes);
}

VERBENA_LIBC_CALL int accept4(int fd, sockaddr* address, socklen_t* bytes, int flags) {
  static constinit Call<int(int, sockaddr*, socklen_t*, int)> call("accept4");
  return call(fd, address, bytes, flags);
}

VERBENA_LIBC_CALL int connect(int fd, const sockaddr* address, socklen_t bytes) {
  static constinit Call<int(int, const sockaddr*, socklen_t)> call("connect");
  return call(fd, address, bytes);
}

VERBENA_LIBC_CALL int shutdown(int fd, int how) noexcept {
  static constinit Call<int(int, int)> call("shutdown");
  return call(fd, how);
}

VERBENA_LIBC_CALL int getsockname(int fd, sockaddr* address, socklen_t* bytes) noexcept {
  static constinit Call<int(int, sockaddr*, socklen_t*)> call("getsockname");
  return call(fd, address, bytes);
}

VERBENA_LIBC_CALL int getpeername(int fd, sockaddr* address, socklen_t* bytes) noexcept {
  static constinit Call<int(int, sockaddr*, socklen_t*)> call("getpeername");
  return call(fd, address, bytes);
}

VERBENA_LIBC_CALL int getsockopt(int fd, int level, int name, void* value,
                                 socklen_t* bytes) noexcept {
  static constinit Call<int(int, int, int, void*, socklen_t*)> call("getsockopt");
  return call(fd, level, name, value, bytes);
}

VERBENA_LIBC_CALL int setsockopt(int fd, int level, int name, const void* value,
                                 socklen_t bytes) noexcept {
  static constinit Call<int(int, int, int, const void*, socklen_t)> call("setsockopt");
  return call(fd, level, name, value, bytes);
}

// Data of sockets.

VERBENA_LIBC_CALL ssize_t send(int fd, const void* data, size_t bytes, int flags) {
  static constinit Call<ssize_t(int, const void*, size_t, int)> call("send");
  return call(fd, data, bytes, flags);
}

VERBENA_LIBC_CALL ssize_t sendto(int fd, const void* data, size_t bytes, int flags,
                                 const sockaddr* address, socklen_t address_bytes) {
  static constinit Call<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> call(
      "sendto");
  return call(fd, data, bytes, flags, address, address_bytes);
}

VERBENA_LIBC_CALL ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static constinit Call<ssize_t(int, const msghdr*, int)> call("sendmsg");
  return call(fd, message, flags);
}

VERBENA_LIBC_CALL int sendmmsg(int fd, mmsghdr* messages, unsigned int count, int flags) {
  static constinit Call<int(int, mmsghdr*, unsigned int, int)> call("sendmmsg");
  return call(fd, messages, count, flags);
}

VERBENA_LIBC_CALL ssize_t recv(int fd, void* data, size_t bytes, int flags) {
  static constinit Call<ssize_t(int, void*, size_t, int)> call("recv");
  return call(fd, data, bytes, flags);
}

VERBENA_LIBC_CALL ssize_t recvfrom(int fd, void* data, size_t bytes, int flags, sockaddr* address,
                                   socklen_t* address_bytes) {
  static constinit Call<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> call("recvfrom");
  return call(fd, data, bytes, flags, address, address_bytes);
}

VERBENA_LIBC_CALL ssize_t recvmsg(int fd, msghdr* message, int flags) {
  static constinit Call<ssize_t(int, msghdr*, int)> call("recvmsg");
  return call(fd, message, flags);
}

VERBENA_LIBC_CALL int recvmmsg(int fd, mmsghdr* messages, unsigned int count, int flags,
                               timespec* timeout) {
  static constinit Call<int(int, mmsghdr*, unsigned int, int, timespec*)> call("recvmmsg");
  return call(fd, messages, count, flags, timeout);
}

// Any descriptor.

VERBENA_LIBC_CALL ssize_t read(int fd, void* data, size_t bytes) {
  static constinit Call<ssize_t(int, void*, size_t)> call("read");
  return call(fd, data, bytes);
}

VERBENA_LIBC_CALL ssize_t readv(int fd, const iovec* parts, int count) {
  static constinit Call<ssize_t(int, const iovec*, int)> call("readv");
  return call(fd, parts, count);
}

VERBENA_LIBC_CALL ssize_t write(int fd, const void* data, size_t bytes) {
  static constinit Call<ssize_t(int, const void*, size_t)> call("write");
  return call(fd, data, bytes);
}

VERBENA_LIBC_CALL ssize_t writev(int fd, const iovec* parts, int count) {
  static constinit Call<ssize_t(int, const iovec*, int)> call("writev");
  return call(fd, parts, count);
}

VERBENA_LIBC_CALL int close(int fd) {
  static constinit Call<int(int)> call("close");
  return call(fd);
}

// Every command takes at most one argument, which is not wider than a pointer.
VERBENA_LIBC_CALL int fcntl(int fd, int command, ...) {
  static constinit Call<int(int, int, ...)> call("fcntl");
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return call(fd, command, argument);
}

VERBENA_LIBC_CALL int dup2(int from, int to) noexcept {
  static constinit Call<int(int, int)> call("dup2");
  return call(from, to);
}

// Waiting.

VERBENA_LIBC_CALL int poll(pollfd* files, nfds_t count, int milliseconds) {
  static constinit Call<int(pollfd*, nfds_t, int)> call("poll");
  return call(files, count, milliseconds);
}

VERBENA_LIBC_CALL int ppoll(pollfd* files, nfds_t count, const timespec* timeout,
                            const sigset_t* signals) {
  static constinit Call<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> call("ppoll");
  return call(files, count, timeout, signals);
}

VERBENA_LIBC_CALL int select(int count, fd_set* readable, fd_set* writable, fd_set* exceptional,
                             timeval* timeout) {
  static constinit Call<int(int, fd_set*, fd_set*, fd_set*, timeval*)> call("select");
  return call(count, readable, writable, exceptional, timeout);
}

VERBENA_LIBC_CALL int epoll_create1(int flags) noexcept {
  static constinit Call<int(int)> call("epoll_create1");
  return call(flags);
}

VERBENA_LIBC_CALL int epoll_ctl(int set, int operation, int fd, epoll_event* event) noexcept {
  static constinit Call<int(int, int, int, epoll_event*)> call("epoll_ctl");
  return call(set, operation, fd, event);
}

VERBENA_LIBC_CALL int epoll_wait(int set, epoll_event* events, int count, int milliseconds) {
  static constinit Call<int(int, epoll_event*, int, int)> call("epoll_wait");
  return call(set, events, count, milliseconds);
}
