// The calls of <rdma/rsocket.h>: finds the socket, converts arguments, sets errno.

#include <fcntl.h>
#include <rdma/rsocket.h>

#include <cstdarg>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <system_error>

#include <climits>

#include "rdmacm/rsocket/datagram_socket.h"
#include "rdmacm/rsocket/poll.h"
#include "rdmacm/rsocket/process.h"
#include "rdmacm/rsocket/select.h"
#include "rdmacm/rsocket/stream_socket.h"

namespace {

using namespace verbena;
using namespace verbena::rsockets;

// Calls `fn` with the socket; EBADF if the descriptor is not an rsocket.
template <class Fn>
auto With(int descriptor, Fn fn) -> decltype(fn(std::declval<Socket&>())) {
  const auto socket = ThisProcess().table.Find(descriptor);
  if (socket == nullptr) return Fail(Errno{EBADF});
  return fn(*socket);
}

// -1 with errno, or the value.
template <class T>
ssize_t Return(const ErrnoOr<T>& result) {
  if (!result) {
    errno = result.error().number;
    return -1;
  }
  if constexpr (std::is_void_v<T>) {
    return 0;
  } else {
    return static_cast<ssize_t>(*result);
  }
}

template <class T>
int ReturnInt(const ErrnoOr<T>& result) {
  return static_cast<int>(Return(result));
}

// For exception handlers: sets errno and returns -1. REQUIRES: an exception is being handled.
int Thrown() noexcept {
  try {
    throw;
  } catch (const std::system_error& error) {
    errno = error.code().value();
  } catch (...) {
    errno = ENOMEM;
  }
  return -1;
}

ErrnoOr<SocketName> NameOf(const sockaddr* address, socklen_t length) {
  if (address == nullptr) return Fail(Errno{EFAULT});
  const auto name = SocketName::From(address, length);
  if (!name) return Fail(Errno{length < sizeof(sockaddr_in) ? EINVAL : EAFNOSUPPORT});
  return *name;
}

ErrnoOr<int> MakeSocket(int domain, int type, int protocol) {
  constexpr int kFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;
  const int kind = type & ~kFlags;
  if (domain != AF_INET && domain != AF_INET6) return Fail(Errno{EAFNOSUPPORT});
  if (kind != SOCK_STREAM && kind != SOCK_DGRAM) return Fail(Errno{ESOCKTNOSUPPORT});
  if (protocol != 0 && protocol != (kind == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP)) {
    return Fail(Errno{EPROTONOSUPPORT});
  }
  Process& process = ThisProcess();
  std::shared_ptr<Socket> socket;
  if (kind == SOCK_STREAM) {
    auto made = StreamSocket::Make(process.service, domain);
    if (!made) return Fail(made.error());
    socket = std::move(*made);
  } else {
    auto made = DatagramSocket::Make(process.service, domain);
    if (!made) return Fail(made.error());
    socket = std::move(*made);
  }
  socket->set_status_flags((type & SOCK_NONBLOCK) != 0 ? O_NONBLOCK : 0);
  return process.table.Insert(std::move(socket));
}

ErrnoOr<std::size_t> Receive(int descriptor, IoVector to, int flags, sockaddr* address,
                             socklen_t* length) {
  return With(descriptor, [&](Socket& socket) {
    std::optional<SocketName> source;
    const bool wants_source = address != nullptr && length != nullptr;
    const auto received = socket.Receive(to, flags, wants_source ? &source : nullptr);
    if (received && source) source->CopyTo(address, length);
    return received;
  });
}

ErrnoOr<std::size_t> Send(int descriptor, IoVector from, int flags, const sockaddr* address,
                          socklen_t length) {
  return With(descriptor, [&](Socket& socket) -> ErrnoOr<std::size_t> {
    if (address == nullptr) return socket.Send(from, flags, std::nullopt);
    const auto name = NameOf(address, length);
    if (!name) return Fail(name.error());
    return socket.Send(from, flags, *name);
  });
}

iovec Buffer(const void* data, std::size_t size) {
  return {.iov_base = const_cast<void*>(data), .iov_len = size};
}

ErrnoOr<IoVector> Buffers(const iovec* buffers, std::size_t count) {
  if (count > IOV_MAX || (buffers == nullptr && count > 0)) return Fail(Errno{EINVAL});
  return IoVector(buffers, count);
}

ErrnoOr<std::size_t> ReceiveMessage(int descriptor, msghdr* message, int flags) {
  const auto buffers = Buffers(message->msg_iov, message->msg_iovlen);
  if (!buffers) return Fail(buffers.error());
  const auto received =
      Receive(descriptor, *buffers, flags, static_cast<sockaddr*>(message->msg_name),
              message->msg_name != nullptr ? &message->msg_namelen : nullptr);
  if (received) {
    message->msg_controllen = 0;
    message->msg_flags = 0;
  }
  return received;
}

ErrnoOr<std::size_t> SendMessage(int descriptor, const msghdr* message, int flags) {
  if (message->msg_control != nullptr && message->msg_controllen > 0) {
    return Fail(Errno{EOPNOTSUPP});
  }
  const auto buffers = Buffers(message->msg_iov, message->msg_iovlen);
  if (!buffers) return Fail(buffers.error());
  return Send(descriptor, *buffers, flags, static_cast<const sockaddr*>(message->msg_name),
              message->msg_namelen);
}

ErrnoOr<int> Accept(Socket& socket, sockaddr* address, socklen_t* length) {
  auto accepted = socket.Accept();
  if (!accepted) return Fail(accepted.error());
  if (address != nullptr && length != nullptr) {
    if (const auto name = (*accepted)->PeerName()) name->CopyTo(address, length);
  }
  auto inserted = ThisProcess().table.Insert(*accepted);
  if (!inserted) (*accepted)->Close();
  return inserted;
}

ErrnoOr<void> CopyName(const ErrnoOr<SocketName>& name, sockaddr* address, socklen_t* length) {
  if (!name) return Fail(name.error());
  if (address == nullptr || length == nullptr) return Fail(Errno{EFAULT});
  name->CopyTo(address, length);
  return {};
}

ErrnoOr<int> Control(Socket& socket, int command, int argument) {
  switch (command) {
    case F_GETFL:
      return O_RDWR | socket.status_flags();
    case F_SETFL:
      socket.set_status_flags(argument & O_NONBLOCK);
      return 0;
    case F_GETFD:
    case F_SETFD: {
      const int result = fcntl(socket.descriptor(), command, argument);
      if (result < 0) return Fail(LastErrno());
      return result;
    }
    default:
      return Fail(Errno{EINVAL});
  }
}

Duration FromMilliseconds(int timeout) {
  return timeout < 0 ? Duration::Max() : Milliseconds(timeout);
}

Duration FromTimeval(const timeval* timeout) {
  if (timeout == nullptr) return Duration::Max();
  return Seconds(timeout->tv_sec) + Microseconds(timeout->tv_usec);
}

}  // namespace

extern "C" {

int rsocket(int domain, int type, int protocol) try {
  return ReturnInt(MakeSocket(domain, type, protocol));
} catch (...) {
  return Thrown();
}

int rbind(int socket, const sockaddr* addr, socklen_t addrlen) try {
  return ReturnInt(With(socket, [&](Socket& found) -> ErrnoOr<void> {
    const auto name = NameOf(addr, addrlen);
    if (!name) return Fail(name.error());
    return found.Bind(*name);
  }));
} catch (...) {
  return Thrown();
}

int rlisten(int socket, int backlog) try {
  return ReturnInt(With(socket, [&](Socket& found) { return found.Listen(backlog); }));
} catch (...) {
  return Thrown();
}

int raccept(int socket, sockaddr* addr, socklen_t* addrlen) try {
  return ReturnInt(With(socket, [&](Socket& found) { return Accept(found, addr, addrlen); }));
} catch (...) {
  return Thrown();
}

int rconnect(int socket, const sockaddr* addr, socklen_t addrlen) try {
  return ReturnInt(With(socket, [&](Socket& found) -> ErrnoOr<void> {
    const auto name = NameOf(addr, addrlen);
    if (!name) return Fail(name.error());
    return found.Connect(*name);
  }));
} catch (...) {
  return Thrown();
}

int rshutdown(int socket, int how) try {
  return ReturnInt(With(socket, [&](Socket& found) { return found.Shutdown(how); }));
} catch (...) {
  return Thrown();
}

int rclose(int socket) try {
  const auto removed = ThisProcess().table.Remove(socket);
  if (removed == nullptr) return ReturnInt(ErrnoOr<void>(Fail(Errno{EBADF})));
  removed->Close();
  return 0;
} catch (...) {
  return Thrown();
}

ssize_t rrecvfrom(int socket, void* buf, size_t len, int flags, sockaddr* src_addr,
                  socklen_t* addrlen) try {
  const iovec buffer = Buffer(buf, len);
  return Return(Receive(socket, {&buffer, 1}, flags, src_addr, addrlen));
} catch (...) {
  return Thrown();
}

ssize_t rrecv(int socket, void* buf, size_t len, int flags) try {
  return rrecvfrom(socket, buf, len, flags, nullptr, nullptr);
} catch (...) {
  return Thrown();
}

ssize_t rrecvmsg(int socket, msghdr* msg, int flags) try {
  return Return(ReceiveMessage(socket, msg, flags));
} catch (...) {
  return Thrown();
}

ssize_t rread(int socket, void* buf, size_t count) try {
  return rrecvfrom(socket, buf, count, 0, nullptr, nullptr);
} catch (...) {
  return Thrown();
}

ssize_t rreadv(int socket, const iovec* iov, int iovcnt) try {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(iov);
  message.msg_iovlen = static_cast<size_t>(iovcnt);
  return Return(ReceiveMessage(socket, &message, 0));
} catch (...) {
  return Thrown();
}

ssize_t rsendto(int socket, const void* buf, size_t len, int flags, const sockaddr* dest_addr,
                socklen_t addrlen) try {
  const iovec buffer = Buffer(buf, len);
  return Return(Send(socket, {&buffer, 1}, flags, dest_addr, addrlen));
} catch (...) {
  return Thrown();
}

ssize_t rsend(int socket, const void* buf, size_t len, int flags) try {
  return rsendto(socket, buf, len, flags, nullptr, 0);
} catch (...) {
  return Thrown();
}

ssize_t rsendmsg(int socket, const msghdr* msg, int flags) try {
  return Return(SendMessage(socket, msg, flags));
} catch (...) {
  return Thrown();
}

ssize_t rwrite(int socket, const void* buf, size_t count) try {
  return rsendto(socket, buf, count, 0, nullptr, 0);
} catch (...) {
  return Thrown();
}

ssize_t rwritev(int socket, const iovec* iov, int iovcnt) try {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(iov);
  message.msg_iovlen = static_cast<size_t>(iovcnt);
  return Return(SendMessage(socket, &message, 0));
} catch (...) {
  return Thrown();
}

int rpoll(pollfd* fds, nfds_t nfds, int timeout) try {
  return ReturnInt(Poll(ThisProcess().table, {fds, nfds}, FromMilliseconds(timeout)));
} catch (...) {
  return Thrown();
}

int rselect(int nfds, fd_set* readfds, fd_set* writefds, fd_set* exceptfds, timeval* timeout) try {
  return ReturnInt(
      Select(ThisProcess().table, nfds, readfds, writefds, exceptfds, FromTimeval(timeout)));
} catch (...) {
  return Thrown();
}

int rgetpeername(int socket, sockaddr* addr, socklen_t* addrlen) try {
  return ReturnInt(
      With(socket, [&](Socket& found) { return CopyName(found.PeerName(), addr, addrlen); }));
} catch (...) {
  return Thrown();
}

int rgetsockname(int socket, sockaddr* addr, socklen_t* addrlen) try {
  return ReturnInt(
      With(socket, [&](Socket& found) { return CopyName(found.Name(), addr, addrlen); }));
} catch (...) {
  return Thrown();
}

int rsetsockopt(int socket, int level, int optname, const void* optval, socklen_t optlen) try {
  return ReturnInt(With(socket, [&](Socket& found) -> ErrnoOr<void> {
    if (optval == nullptr) return Fail(Errno{EFAULT});
    return found.SetOption(level, optname, {static_cast<const std::byte*>(optval), optlen});
  }));
} catch (...) {
  return Thrown();
}

int rgetsockopt(int socket, int level, int optname, void* optval, socklen_t* optlen) try {
  return ReturnInt(With(socket, [&](Socket& found) -> ErrnoOr<void> {
    if (optval == nullptr || optlen == nullptr) return Fail(Errno{EFAULT});
    const auto length = found.GetOption(level, optname, {static_cast<std::byte*>(optval), *optlen});
    if (!length) return Fail(length.error());
    *optlen = *length;
    return {};
  }));
} catch (...) {
  return Thrown();
}

int rfcntl(int socket, int cmd, ...) try {
  va_list arguments;
  va_start(arguments, cmd);
  const int argument = cmd == F_SETFL || cmd == F_SETFD ? va_arg(arguments, int) : 0;
  va_end(arguments);
  return ReturnInt(With(socket, [&](Socket& found) { return Control(found, cmd, argument); }));
} catch (...) {
  return Thrown();
}

off_t riomap(int socket, void* buf, size_t len, int prot, int, off_t offset) try {
  return Return(With(socket, [&](Socket& found) { return found.Map(buf, len, prot, offset); }));
} catch (...) {
  return Thrown();
}

int riounmap(int socket, void* buf, size_t len) try {
  return ReturnInt(With(socket, [&](Socket& found) { return found.Unmap(buf, len); }));
} catch (...) {
  return Thrown();
}

size_t riowrite(int socket, const void* buf, size_t count, off_t offset, int flags) try {
  return static_cast<size_t>(Return(With(socket, [&](Socket& found) {
    return found.WriteDirect({static_cast<const std::byte*>(buf), count}, offset, flags);
  })));
} catch (...) {
  return static_cast<size_t>(Thrown());
}

}  // extern "C"
