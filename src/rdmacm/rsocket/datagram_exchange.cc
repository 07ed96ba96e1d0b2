// How the peers of a DatagramSocket learn each other's queue pairs.

#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "rdmacm/rsocket/datagram_socket.h"

namespace verbena::rsockets {

ErrnoOr<SocketName> DatagramSocket::SourceFor(const SocketName& destination) {
  const auto own = Name();
  if (!own || !own->is_any()) return own;
  // A connected socket has the address that the kernel chooses.
  const FileDescriptor probe(socket(family_, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.is_open() || connect(probe.get(), destination.get(), destination.size()) != 0) {
    return Fail(LastErrno());
  }
  SocketName name(family_);
  socklen_t length = sizeof(sockaddr_in6);
  if (getsockname(probe.get(), name.get(), &length) != 0) return Fail(LastErrno());
  name.set_port(own->port());
  return name;
}

ErrnoOr<DatagramPort*> DatagramSocket::GetPort(const SocketName& local) {
  for (const auto& port : ports_) {
    if (port->local() == local) return port.get();
  }
  if (ports_.size() >= kDatagramPortsMax) return Fail(Errno{ENOBUFS});
  auto port = DatagramPort::Make(channel_, local, sizes_);
  if (!port) return Fail(port.error());
  if (const auto added = readiness().Add((*port)->cq().fd()); !added) return Fail(added.error());
  (*port)->cq().Arm();
  ports_.push_back(std::move(*port));
  return ports_.back().get();
}

ErrnoOr<DatagramDestination*> DatagramSocket::GetDestination(const SocketName& name) {
  if (DatagramDestination* const known = destinations_.Find(name)) return known;
  // Binds the socket now: the kernel would do so at the first send, but the peers need the port.
  const auto own = Name();
  if (!own) return Fail(own.error());
  if (own->port() == 0) {
    const SocketName any(family_);
    if (bind(udp_.get(), any.get(), any.size()) != 0) return Fail(LastErrno());
  }
  const auto source = SourceFor(name);
  if (!source) return Fail(source.error());
  const auto port = GetPort(*source);
  if (!port) return Fail(port.error());
  DatagramDestination& destination = destinations_.Insert(name);
  destination.port = *port;
  return &destination;
}

ErrnoOr<void> DatagramSocket::SendUdp(IoVector from, const SocketName& destination,
                                      const DatagramPort& port, MessageOp op) {
  const DatagramUdpHeader header{.op = op, .qpn = port.qpn(), .address = port.local().address()};
  std::array<std::byte, DatagramUdpHeader::kIpv6Size> header_bytes;
  header.Serialize(header_bytes);
  std::vector<iovec> buffers{{.iov_base = header_bytes.data(), .iov_len = header.size()}};
  buffers.insert(buffers.end(), from.begin(), from.end());
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(destination.get());
  message.msg_namelen = destination.size();
  message.msg_iov = buffers.data();
  message.msg_iovlen = buffers.size();
  if (sendmsg(udp_.get(), &message, MSG_NOSIGNAL) < 0) return Fail(LastErrno());
  return {};
}

void DatagramSocket::OnReadable(int fd) {
  if (fd == udp_.get()) {
    while (ReadUdp()) {
    }
    return;
  }
  while (const auto event = channel_.Next()) {
    const MutexLock lock(lock_);
    OnEvent(*event);
  }
}

bool DatagramSocket::ReadUdp() {
  std::array<std::byte, kDatagramSlot> bytes;
  SocketName source(AF_INET6);
  socklen_t length = source.size();
  const ssize_t size =
      recvfrom(udp_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT, source.get(), &length);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  {
    const MutexLock lock(lock_);
    if (size < 0) {
      error_ = errno;  // an earlier datagram failed: ECONNREFUSED
    } else {
      OnUdp(std::span(bytes).first(static_cast<std::size_t>(size)), source);
    }
  }
  Announce();
  return size >= 0;
}

void DatagramSocket::OnUdp(std::span<const std::byte> bytes, const SocketName& source) {
  const auto header = DatagramUdpHeader::Parse(bytes);
  if (!header || header->address.is_ipv4() != source.is_ipv4()) return;
  const auto destination = GetDestination(source);
  if (!destination) return;
  if (header->op == MessageOp::kData) {
    static_cast<void>(SendUdp({}, source, *(*destination)->port, MessageOp::kControl));
  }
  if (((*destination)->ah == nullptr && (*destination)->resolver == nullptr) ||
      (*destination)->qpn != header->qpn) {
    Resolve(source, **destination, header->qpn);
  }
  const bool is_full = udp_waiting_ >= kUdpDatagramsMax;
  if (header->op != MessageOp::kData || is_full || !IsFromPeer(source)) return;
  const auto payload = bytes.subspan(header->size());
  Waiting waiting{.source = source, .own_bytes = {payload.begin(), payload.end()}};
  waiting_.push_back(std::move(waiting));
  waiting_.back().payload = waiting_.back().own_bytes;
  ++udp_waiting_;
}

void DatagramSocket::Resolve(const SocketName& name, DatagramDestination& destination,
                             uint32_t qpn) {
  destination.ah.reset();
  destination.qpn = qpn;
  destination.resolver.reset();
  auto id = channel_.MakeId(RDMA_PS_UDP);
  if (!id) return;
  SocketName from = destination.port->local(), to = name;
  from.set_port(0);
  if (rdma_resolve_addr(id->get(), from.get(), to.get(), kResolveTimeoutMs) == 0) {
    destination.resolver = std::move(*id);
  }  // otherwise datagrams stay on UDP, and the next one tries again
}

void DatagramSocket::OnEvent(const ConnectionEvent& event) {
  DatagramDestination* const destination = destinations_.FindByResolver(event.id);
  if (destination == nullptr) return;
  if (event.type == RDMA_CM_EVENT_ADDR_RESOLVED &&
      rdma_resolve_route(event.id, kResolveTimeoutMs) == 0) {
    return;
  }
  if (event.type == RDMA_CM_EVENT_ROUTE_RESOLVED && event.id->route.num_paths > 0) {
    auto ah = destination->port->MakeAh(*event.id->route.path_rec);
    if (ah) destination->ah = std::move(*ah);
  }
  destination->resolver.reset();  // it has succeeded or failed
}

}  // namespace verbena::rsockets
