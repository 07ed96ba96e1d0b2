#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "rdmacm/rsocket/cm_event_channel.h"
#include "rdmacm/rsocket/datagram_destinations.h"
#include "rdmacm/rsocket/datagram_port.h"
#include "rdmacm/rsocket/service_thread.h"
#include "rdmacm/rsocket/socket.h"

namespace verbena::rsockets {

// A socket of type SOCK_DGRAM: a UDP socket, and a UD queue pair for each local address that it
// sends from. The first datagrams to a peer go over UDP, with a header that has the queue pair
// number; the peer replies with its own, and after that datagrams go from queue pair to queue pair.
//
// The service thread reads the UDP socket and resolves paths. Files: datagram_socket.cc (calls),
// datagram_exchange.cc (how peers learn of each other).
class DatagramSocket final : public Socket,
                             public ServiceClient,
                             public std::enable_shared_from_this<DatagramSocket> {
  struct Private {};

 public:
  [[nodiscard]] static ErrnoOr<std::shared_ptr<DatagramSocket>> Make(ServiceThread& service,
                                                                     int family);
  DatagramSocket(Private, ReadinessFile readiness, CmEventChannel channel, FileDescriptor udp,
                 ServiceThread& service, int family);
  ~DatagramSocket() override;

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

  void OnReadable(int fd) override;
  void OnTime() override {}

 private:
  // A datagram that waits for rrecv, in the slot of a port, or in its own memory if it came over
  // UDP.
  struct Waiting {
    SocketName source;
    DatagramPort* port = nullptr;
    uint32_t slot = 0;
    std::span<const std::byte> payload = {};
    std::vector<std::byte> own_bytes = {};
  };

  // Handles the completions of all ports; with `arm`, arms them first.
  void Advance(bool arm) VERBENA_REQUIRES(lock_);
  void OnArrival(DatagramPort& port, const DatagramPort::Arrival& arrival) VERBENA_REQUIRES(lock_);
  [[nodiscard]] bool IsFromPeer(const SocketName& source) const VERBENA_REQUIRES(lock_);
  [[nodiscard]] std::size_t Deliver(IoVector to, bool peek, std::optional<SocketName>* source)
      VERBENA_REQUIRES(lock_);
  // Sends without waiting; EAGAIN if the port has no free slot.
  [[nodiscard]] ErrnoOr<std::size_t> TrySend(IoVector from, const SocketName& destination)
      VERBENA_EXCLUDES(lock_);
  [[nodiscard]] ErrnoOr<void> SendOnPort(IoVector from, const DatagramDestination& destination)
      VERBENA_REQUIRES(lock_);

  // The destination, including its port.
  [[nodiscard]] ErrnoOr<DatagramDestination*> GetDestination(const SocketName& name)
      VERBENA_REQUIRES(lock_);
  [[nodiscard]] ErrnoOr<DatagramPort*> GetPort(const SocketName& local) VERBENA_REQUIRES(lock_);
  // The local address for datagrams to `destination`.
  [[nodiscard]] ErrnoOr<SocketName> SourceFor(const SocketName& destination);
  [[nodiscard]] ErrnoOr<void> SendUdp(IoVector from, const SocketName& destination,
                                      const DatagramPort& port, MessageOp op);
  [[nodiscard]] bool ReadUdp() VERBENA_EXCLUDES(lock_);
  void OnUdp(std::span<const std::byte> bytes, const SocketName& source) VERBENA_REQUIRES(lock_);
  void Resolve(const SocketName& name, DatagramDestination& destination, uint32_t qpn)
      VERBENA_REQUIRES(lock_);
  void OnEvent(const ConnectionEvent& event) VERBENA_REQUIRES(lock_);

  const int family_;
  ServiceThread& service_;
  const CmEventChannel channel_;
  const FileDescriptor udp_;

  Mutex lock_;
  DatagramPort::Sizes sizes_ VERBENA_GUARDED_BY(lock_);
  std::vector<std::unique_ptr<DatagramPort>> ports_ VERBENA_GUARDED_BY(lock_);
  DatagramDestinations destinations_ VERBENA_GUARDED_BY(lock_);  // point to ports_
  std::deque<Waiting> waiting_ VERBENA_GUARDED_BY(lock_);  // bounded by slots, kUdpDatagramsMax
  std::size_t udp_waiting_ VERBENA_GUARDED_BY(lock_) = 0;  // part of waiting_, over UDP
  std::optional<SocketName> peer_ VERBENA_GUARDED_BY(lock_);
  int error_ VERBENA_GUARDED_BY(lock_) = 0;
  bool is_readable_ VERBENA_GUARDED_BY(lock_) = true;
  bool is_writable_ VERBENA_GUARDED_BY(lock_) = true;
};

}  // namespace verbena::rsockets
