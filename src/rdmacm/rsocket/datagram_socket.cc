#include "rdmacm/rsocket/datagram_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "rdmacm/rsocket/io_cursor.h"
#include "rdmacm/rsocket/stream_options.h"

namespace verbena::rsockets {
namespace {

// The maximum payload, over UDP or over a queue pair.
constexpr std::size_t kPayloadMax = kDatagramSlot - DatagramUdpHeader::kIpv6Size;

}  // namespace

ErrnoOr<std::shared_ptr<DatagramSocket>> DatagramSocket::Make(ServiceThread& service, int family) {
  auto readiness = ReadinessFile::Open();
  if (!readiness) return Fail(readiness.error());
  auto channel = CmEventChannel::Open();
  if (!channel) return Fail(channel.error());
  FileDescriptor udp(socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!udp.is_open()) return Fail(LastErrno());
  const int udp_fd = udp.get(), channel_fd = channel->fd();
  auto made = std::make_shared<DatagramSocket>(
      Private{}, std::move(*readiness), std::move(*channel), std::move(udp), service, family);
  for (const int fd : {udp_fd, channel_fd}) {
    if (const auto added = service.Add(fd, made); !added) return Fail(added.error());
  }
  return made;
}

DatagramSocket::DatagramSocket(Private, ReadinessFile readiness, CmEventChannel channel,
                               FileDescriptor udp, ServiceThread& service, int family)
    : Socket(std::move(readiness)),
      family_(family),
      service_(service),
      channel_(std::move(channel)),
      udp_(std::move(udp)) {}

DatagramSocket::~DatagramSocket() {
  service_.Remove(udp_.get());
  service_.Remove(channel_.fd());
}

ErrnoOr<void> DatagramSocket::Bind(const SocketName& name) {
  if (bind(udp_.get(), name.get(), name.size()) != 0) return Fail(LastErrno());
  return {};
}

ErrnoOr<void> DatagramSocket::Listen(int) { return Fail(Errno{EOPNOTSUPP}); }
ErrnoOr<std::shared_ptr<Socket>> DatagramSocket::Accept() { return Fail(Errno{EOPNOTSUPP}); }

ErrnoOr<void> DatagramSocket::Connect(const SocketName& name) {
  if (name.family() != family_) return Fail(Errno{EAFNOSUPPORT});
  const MutexLock lock(lock_);
  if (connect(udp_.get(), name.get(), name.size()) != 0) return Fail(LastErrno());
  if (const auto destination = GetDestination(name); !destination) {
    return Fail(destination.error());
  }
  peer_ = name;
  return {};
}

ErrnoOr<void> DatagramSocket::Shutdown(int how) {
  {
    const MutexLock lock(lock_);
    if (!peer_) return Fail(Errno{ENOTCONN});
    if (how != SHUT_WR) is_readable_ = false;
    if (how != SHUT_RD) is_writable_ = false;
  }
  Announce();
  return {};
}

void DatagramSocket::Close() {
  const auto flushed = [this](bool arm) {
    const MutexLock lock(lock_);
    Advance(arm);
    return std::ranges::all_of(ports_, [](const auto& port) { return port->idle(); });
  };
  const Time deadline = Now() + kCloseWait;
  while (Now() < deadline) {
    const auto waited = WaitUntil(flushed, deadline);
    if (waited || waited.error().number != EINTR) break;
  }
  service_.Remove(udp_.get());
  service_.Remove(channel_.fd());
  {
    const MutexLock lock(lock_);
    is_readable_ = false;
    is_writable_ = false;
  }
  Announce();
}

void DatagramSocket::Advance(bool arm) {
  bool changed = false;
  for (const auto& port : ports_) {
    if (arm) port->cq().Arm();
    std::array<ibv_wc, 16> batch;
    for (;;) {
      const auto completions = port->cq().Poll(batch);
      if (completions.empty()) break;
      changed = true;
      for (const ibv_wc& completion : completions) {
        if (const auto arrival = port->OnCompletion(completion)) OnArrival(*port, *arrival);
      }
    }
  }
  if (changed) watchers().Notify();
}

bool DatagramSocket::IsFromPeer(const SocketName& source) const {
  return !peer_ || *peer_ == source;
}

void DatagramSocket::OnArrival(DatagramPort& port, const DatagramPort::Arrival& arrival) {
  const auto header = DatagramHeader::Parse(arrival.bytes);
  if (!header || !IsFromPeer(SocketName::From(header->source))) {
    static_cast<void>(port.PostReceive(arrival.slot));
    return;
  }
  waiting_.push_back({.source = SocketName::From(header->source),
                      .port = &port,
                      .slot = arrival.slot,
                      .payload = arrival.bytes.subspan(header->size())});
}

std::size_t DatagramSocket::Deliver(IoVector to, bool peek, std::optional<SocketName>* source) {
  Waiting& first = waiting_.front();
  IoCursor cursor(to);
  const std::size_t length = std::min(cursor.left(), first.payload.size());
  cursor.CopyIn(first.payload.first(length));
  if (source != nullptr) *source = first.source;
  if (peek) return length;
  if (first.port == nullptr) {
    --udp_waiting_;
  } else if (const auto posted = first.port->PostReceive(first.slot); !posted) {
    error_ = posted.error().number;
  }
  waiting_.pop_front();
  return length;
}

ErrnoOr<std::size_t> DatagramSocket::Receive(IoVector to, int flags,
                                             std::optional<SocketName>* source) {
  const auto ready = [this](bool arm) {
    const MutexLock lock(lock_);
    Advance(arm);
    return !waiting_.empty() || error_ != 0 || !is_readable_;
  };
  for (;;) {
    {
      const MutexLock lock(lock_);
      if (waiting_.empty()) Advance(/*arm=*/false);
      if (!waiting_.empty()) return Deliver(to, (flags & MSG_PEEK) != 0, source);
      if (error_ != 0) return Fail(Errno{std::exchange(error_, 0)});
      if (!is_readable_) return 0;
    }
    if (const auto waited = Await(flags, ready); !waited) return Fail(waited.error());
  }
}

ErrnoOr<void> DatagramSocket::SendOnPort(IoVector from, const DatagramDestination& destination) {
  DatagramPort& port = *destination.port;
  if (!port.can_send()) return Fail(Errno{EAGAIN});
  const DatagramHeader header{.source = port.local().datagram_address()};
  const auto message = port.next_message();
  header.Serialize(message);
  IoCursor cursor(from);
  const std::size_t length = cursor.left();
  cursor.CopyOut(message.subspan(header.size(), length));
  return port.Send(header.size() + length, destination.ah.get(), destination.qpn);
}

ErrnoOr<std::size_t> DatagramSocket::TrySend(IoVector from, const SocketName& destination) {
  const std::size_t length = SizeOf(from);
  const MutexLock lock(lock_);
  if (!is_writable_) return Fail(Errno{EPIPE});
  if (error_ != 0) return Fail(Errno{std::exchange(error_, 0)});
  const auto found = GetDestination(destination);
  if (!found) return Fail(found.error());
  const DatagramDestination& known = **found;
  // Messages that are too long for one packet of the path also go over UDP.
  const std::size_t room = known.port->message_max() - DatagramHeader::kIpv6Size;
  const bool by_udp = known.ah == nullptr || length > room;
  if (!by_udp && !known.port->can_send()) Advance(/*arm=*/false);
  const auto sent =
      by_udp ? SendUdp(from, destination, *known.port, MessageOp::kData) : SendOnPort(from, known);
  if (!sent) return Fail(sent.error());
  return length;
}

ErrnoOr<std::size_t> DatagramSocket::Send(IoVector from, int flags,
                                          const std::optional<SocketName>& destination) {
  std::optional<SocketName> to = destination;
  if (!to) {
    const MutexLock lock(lock_);
    to = peer_;
  }
  if (!to) return Fail(Errno{EDESTADDRREQ});
  if (to->family() != family_) return Fail(Errno{EAFNOSUPPORT});
  if (SizeOf(from) > kPayloadMax) return Fail(Errno{EMSGSIZE});
  for (;;) {
    auto sent = TrySend(from, *to);
    if (sent || sent.error().number != EAGAIN) return sent;
    const auto waited = Await(flags, [this](bool arm) {
      const MutexLock lock(lock_);
      Advance(arm);
      return std::ranges::all_of(ports_, [](const auto& port) { return port->can_send(); });
    });
    if (!waited) return Fail(waited.error());
  }
}

short DatagramSocket::Poll(short events, bool arm) {
  const MutexLock lock(lock_);
  readiness().Clear();
  Advance(arm);
  int found = 0;
  if (!waiting_.empty() || !is_readable_ || error_ != 0) found |= POLLIN | POLLRDNORM;
  if (std::ranges::all_of(ports_, [](const auto& port) { return port->can_send(); })) {
    found |= POLLOUT | POLLWRNORM;
  }
  found &= events;
  if (error_ != 0) found |= POLLERR;
  return static_cast<short>(found);
}

void DatagramSocket::OnDescriptorReadable() {
  const MutexLock lock(lock_);
  readiness().Clear();
  for (const auto& port : ports_) port->cq().TakeEvents();
  watchers().Notify();
}

ErrnoOr<SocketName> DatagramSocket::Name() {
  SocketName name(AF_INET6);
  socklen_t length = name.size();
  if (getsockname(udp_.get(), name.get(), &length) != 0) return Fail(LastErrno());
  return name;
}

ErrnoOr<SocketName> DatagramSocket::PeerName() {
  const MutexLock lock(lock_);
  if (!peer_) return Fail(Errno{ENOTCONN});
  return *peer_;
}

ErrnoOr<void> DatagramSocket::SetOption(int level, int name, std::span<const std::byte> value) {
  if (level != SOL_RDMA) {
    if (setsockopt(udp_.get(), level, name, value.data(), static_cast<socklen_t>(value.size())) !=
        0) {
      return Fail(LastErrno());
    }
    return {};
  }
  const auto number = IntOf(value);
  if (!number || *number < 0) return Fail(Errno{EINVAL});
  const MutexLock lock(lock_);
  if (!ports_.empty()) return Fail(Errno{EINVAL});
  const auto slots = static_cast<uint16_t>(std::clamp<int>(*number, kQueueMin, kQueueMax));
  if (name == RDMA_SQSIZE) {
    sizes_.send_slots = slots;
  } else if (name == RDMA_RQSIZE) {
    sizes_.receive_slots = slots;
  } else if (name == RDMA_INLINE) {
    sizes_.inline_max = static_cast<uint16_t>(std::min<int>(*number, kInlineMax));
  } else {
    return Fail(Errno{ENOPROTOOPT});
  }
  return {};
}

ErrnoOr<socklen_t> DatagramSocket::GetOption(int level, int name, std::span<std::byte> value) {
  const MutexLock lock(lock_);
  if (level == SOL_SOCKET && name == SO_ERROR) return PutInt(std::exchange(error_, 0), value);
  if (level != SOL_RDMA) {
    auto length = static_cast<socklen_t>(value.size());
    if (getsockopt(udp_.get(), level, name, value.data(), &length) != 0) return Fail(LastErrno());
    return length;
  }
  if (name == RDMA_SQSIZE) return PutInt(sizes_.send_slots, value);
  if (name == RDMA_RQSIZE) return PutInt(sizes_.receive_slots, value);
  if (name == RDMA_INLINE) return PutInt(sizes_.inline_max, value);
  return Fail(Errno{ENOPROTOOPT});
}

}  // namespace verbena::rsockets
