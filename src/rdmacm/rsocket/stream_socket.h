#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/mutex.h"
#include "rdmacm/rsocket/accept_queue.h"
#include "rdmacm/rsocket/cm_event_channel.h"
#include "rdmacm/rsocket/io_cursor.h"
#include "rdmacm/rsocket/service_thread.h"
#include "rdmacm/rsocket/socket.h"
#include "rdmacm/rsocket/stream_connection.h"
#include "rdmacm/rsocket/stream_options.h"

namespace verbena::rsockets {

// A socket of type SOCK_STREAM: a listener, or one end of a connection over an RC queue pair.
//
// The service thread takes the events of the connection manager, which change the phase; calls of
// the program wait for that. Bytes move only in calls of the program.
//
// Files: stream_socket.cc (lifetime, poll, names), stream_connect.cc (phases), stream_io.cc
// (bytes), stream_control.cc (options, mapped buffers).
class StreamSocket final : public Socket,
                           public ServiceClient,
                           public std::enable_shared_from_this<StreamSocket> {
  struct Private {};

 public:
  [[nodiscard]] static ErrnoOr<std::shared_ptr<StreamSocket>> Make(ServiceThread& service,
                                                                   int family);
  StreamSocket(Private, ReadinessFile readiness, CmEventChannel channel, OwnedCmId id,
               ServiceThread& service, int family);
  ~StreamSocket() override;

  ErrnoOr<void> Bind(const SocketName& name) override;
  ErrnoOr<void> Listen(int backlog) override;
  ErrnoOr<std::shared_ptr<Socket>> Accept() override;
  ErrnoOr<void> Connect(const SocketName& name) override;
  ErrnoOr<void> Shutdown(int how) override;
  void Close() override;
  ErrnoOr<std::size_t> Receive(IoVector to, int flags, std::optional<SocketName>* source) override;
  ErrnoOr<std::size_t> Send(IoVector from, int flags,
                            const std::optional<SocketName>& destination) override;
  [[nodiscard]] short Poll(short events, bool arm) override;
  void OnDescriptorReadable() override;
  [[nodiscard]] ErrnoOr<SocketName> Name() override;
  [[nodiscard]] ErrnoOr<SocketName> PeerName() override;
  ErrnoOr<void> SetOption(int level, int name, std::span<const std::byte> value) override;
  [[nodiscard]] ErrnoOr<socklen_t> GetOption(int level, int name,
                                             std::span<std::byte> value) override;
  ErrnoOr<off_t> Map(void* buffer, std::size_t length, int protection, off_t offset) override;
  ErrnoOr<void> Unmap(void* buffer, std::size_t length) override;
  ErrnoOr<std::size_t> WriteDirect(std::span<const std::byte> from, off_t offset,
                                   int flags) override;

  void OnReadable(int fd) override;
  void OnTime() override;

 private:
  enum class Phase : uint8_t {
    kNew,
    kBound,
    kListening,
    kResolvingAddress,
    kResolvingRoute,
    kConnecting,
    kAccepting,  // made by a listener; the peer has not completed the handshake
    kConnected,  // `connection_` knows which directions are open
    kFailed,     // was never connected: see error_
    kClosed,
  };

  [[nodiscard]] bool IsConnecting() const VERBENA_REQUIRES(lock_);
  // Handles an event of the connection manager.
  void OnEvent(const ConnectionEvent& event);
  void OnConnectStep(const ConnectionEvent& event) VERBENA_REQUIRES(lock_);
  void OnRequest(const ConnectionEvent& event) VERBENA_EXCLUDES(lock_);
  [[nodiscard]] ErrnoOr<std::shared_ptr<StreamSocket>> MakeAccepted(OwnedCmId& id,
                                                                    const ConnectionEvent& event);
  void OnEstablished(const ConnectionEvent& event) VERBENA_EXCLUDES(lock_);
  void OnLost(const ConnectionEvent& event) VERBENA_EXCLUDES(lock_);
  void EndHandshake(const std::shared_ptr<StreamSocket>& connection, bool succeeded)
      VERBENA_EXCLUDES(lock_);
  void ResolveAddress() VERBENA_REQUIRES(lock_);
  void ResolveRoute() VERBENA_REQUIRES(lock_);
  void SendRequest() VERBENA_REQUIRES(lock_);
  [[nodiscard]] ErrnoOr<void> MakeConnection() VERBENA_REQUIRES(lock_);
  void FailConnect(Errno error) VERBENA_REQUIRES(lock_);
  // Starts or stops the timer of the keepalive.
  void SetKeepaliveTimer() VERBENA_REQUIRES(lock_);

  // OK if the socket is connected; waits for it if `flags` allow.
  [[nodiscard]] ErrnoOr<void> AwaitConnected(int flags) VERBENA_EXCLUDES(lock_);
  // Handles completions; with `arm`, arms first. Notifies other threads of changes.
  void Advance(bool arm) VERBENA_REQUIRES(lock_);
  [[nodiscard]] short PollConnected(short events, bool arm) VERBENA_REQUIRES(lock_);
  // Why nothing can be sent any more; OK if sending is possible.
  [[nodiscard]] ErrnoOr<void> CheckWritable() VERBENA_REQUIRES(lock_);

  // Move bytes without waiting, and return their number; 0 if none can be moved now.
  [[nodiscard]] std::size_t ReadAvailable(IoCursor& to, bool peek)
      VERBENA_EXCLUDES(lock_, receive_lock_);
  [[nodiscard]] ErrnoOr<std::size_t> SendBurst(IoCursor& from) VERBENA_EXCLUDES(lock_, send_lock_);
  [[nodiscard]] ErrnoOr<std::size_t> DirectBurst(std::span<const std::byte> from, uint64_t offset)
      VERBENA_EXCLUDES(lock_, send_lock_);
  // Copies the bytes of `transfer` to the send buffer, or to `inline_bytes`.
  static void Gather(const StreamTransfer& transfer, IoCursor& from, std::span<std::byte> buffer,
                     std::span<std::byte> inline_bytes);

  const int family_;
  ServiceThread& service_;
  const CmEventChannel channel_;
  OwnedCmId id_;  // declared before connection_, whose queue pair uses it

  // Lock order: send_lock_ or receive_lock_, then lock_, then those of the watchers and the table.
  Mutex send_lock_;     // held while writing the send buffer
  Mutex receive_lock_;  // held while reading the receive buffer
  Mutex lock_;
  Phase phase_ VERBENA_GUARDED_BY(lock_) = Phase::kNew;
  StreamOptions options_ VERBENA_GUARDED_BY(lock_);
  // Never reset once it is set.
  std::unique_ptr<StreamConnection> connection_ VERBENA_PT_GUARDED_BY(lock_);
  std::optional<AcceptQueue<StreamSocket>> accept_queue_ VERBENA_GUARDED_BY(lock_);
  std::weak_ptr<StreamSocket> listener_ VERBENA_GUARDED_BY(lock_);  // of kAccepting
  std::optional<SocketName> destination_ VERBENA_GUARDED_BY(lock_);
  int tries_ VERBENA_GUARDED_BY(lock_) = 0;
  int error_ VERBENA_GUARDED_BY(lock_) = 0;  // of kFailed, until it was reported to the program
  bool is_served_ VERBENA_GUARDED_BY(lock_) = false;  // the service thread has its files
};

}  // namespace verbena::rsockets
