#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/time.h"
#include "rdmacm/rsocket/errno.h"
#include "rdmacm/rsocket/readiness_file.h"
#include "rdmacm/rsocket/socket_name.h"
#include "rdmacm/rsocket/watch.h"

namespace verbena::rsockets {

// The bytes of a program's call, gathered from or scattered to its buffers. `total` of them.
using IoVector = std::span<const iovec>;

// An rsocket: the calls of <rdma/rsocket.h> on a descriptor. Stream and datagram sockets implement
// it. Functions return what the socket calls of the same name return, or the errno.
//
// Any thread, also several at once. No lock is held while a thread sleeps.
class Socket {
 public:
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  virtual ~Socket() = default;

  // The descriptor that the program uses: see ReadinessFile.
  [[nodiscard]] int descriptor() const { return readiness_.fd(); }
  [[nodiscard]] Watchers& watchers() { return watchers_; }
  [[nodiscard]] int status_flags() const { return status_flags_; }  // O_NONBLOCK or 0
  void set_status_flags(int flags) { status_flags_ = flags; }

  virtual ErrnoOr<void> Bind(const SocketName& name) = 0;
  virtual ErrnoOr<void> Listen(int backlog) = 0;
  virtual ErrnoOr<std::shared_ptr<Socket>> Accept() = 0;
  virtual ErrnoOr<void> Connect(const SocketName& name) = 0;
  virtual ErrnoOr<void> Shutdown(int how) = 0;
  // Closes the socket; the descriptor is closed with the last reference.
  virtual void Close() = 0;

  // `source`: receives the sender's name, if it is not null.
  virtual ErrnoOr<std::size_t> Receive(IoVector to, int flags,
                                       std::optional<SocketName>* source) = 0;
  virtual ErrnoOr<std::size_t> Send(IoVector from, int flags,
                                    const std::optional<SocketName>& destination) = 0;

  // Makes progress, and returns which of `events` have occurred, with POLLERR and POLLHUP. With
  // `arm`, later events make the descriptor readable.
  [[nodiscard]] virtual short Poll(short events, bool arm) = 0;
  // The descriptor was readable: takes its events, and notifies other threads that watch.
  virtual void OnDescriptorReadable() = 0;

  [[nodiscard]] virtual ErrnoOr<SocketName> Name() = 0;
  [[nodiscard]] virtual ErrnoOr<SocketName> PeerName() = 0;
  virtual ErrnoOr<void> SetOption(int level, int name, std::span<const std::byte> value) = 0;
  // Writes to the front of `value`, and returns the length.
  [[nodiscard]] virtual ErrnoOr<socklen_t> GetOption(int level, int name,
                                                     std::span<std::byte> value) = 0;

  // Buffers that the peer writes directly; for streams.
  virtual ErrnoOr<off_t> Map(void* buffer, std::size_t length, int protection, off_t offset);
  virtual ErrnoOr<void> Unmap(void* buffer, std::size_t length);
  virtual ErrnoOr<std::size_t> WriteDirect(std::span<const std::byte> from, off_t offset,
                                           int flags);

 protected:
  explicit Socket(ReadinessFile readiness) : readiness_(std::move(readiness)) {}

  [[nodiscard]] const ReadinessFile& readiness() const { return readiness_; }
  // Gives an accepted socket a new descriptor number. librspreload takes a number for the program
  // before it calls raccept, and its select() finds a socket only if the socket's own number is
  // higher.
  void Renumber() { readiness_.Renumber(); }
  // Whether a call with `flags` may sleep.
  [[nodiscard]] bool MayBlock(int flags) const;
  // The state has changed: wakes every thread that sleeps on the socket.
  void Announce();
  // Sleeps until `ready` is true, after a short spin. `ready` makes progress; with `arm`, it first
  // arms the descriptor for later events. EINTR if a signal handler ran, ETIMEDOUT at `deadline`.
  [[nodiscard]] ErrnoOr<void> WaitUntil(const std::function<bool(bool arm)>& ready,
                                        Time deadline = Time::Never());
  // The same for a call with `flags`: EAGAIN at once if it may not sleep.
  [[nodiscard]] ErrnoOr<void> Await(int flags, const std::function<bool(bool arm)>& ready);

 private:
  ReadinessFile readiness_;
  Watchers watchers_;
  std::atomic<int> status_flags_ = 0;
};

// The number of bytes of all buffers.
[[nodiscard]] std::size_t SizeOf(IoVector buffers);

}  // namespace verbena::rsockets
