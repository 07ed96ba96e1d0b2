#include "rdmacm/rsocket/stream_socket.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace verbena::rsockets {

ErrnoOr<std::shared_ptr<StreamSocket>> StreamSocket::Make(ServiceThread& service, int family) {
  auto readiness = ReadinessFile::Open();
  if (!readiness) return Fail(readiness.error());
  auto channel = CmEventChannel::Open();
  if (!channel) return Fail(channel.error());
  auto id = channel->MakeId(RDMA_PS_TCP);
  if (!id) return Fail(id.error());
  return std::make_shared<StreamSocket>(Private{}, std::move(*readiness), std::move(*channel),
                                        std::move(*id), service, family);
}

StreamSocket::StreamSocket(Private, ReadinessFile readiness, CmEventChannel channel, OwnedCmId id,
                           ServiceThread& service, int family)
    : Socket(std::move(readiness)),
      family_(family),
      service_(service),
      channel_(std::move(channel)),
      id_(std::move(id)) {}

StreamSocket::~StreamSocket() {
  service_.Remove(channel_.fd());
  if (connection_ != nullptr) readiness().Remove(connection_->endpoint().cq().fd());
}

ErrnoOr<void> StreamSocket::Bind(const SocketName& name) {
  const MutexLock lock(lock_);
  if (phase_ != Phase::kNew) return Fail(Errno{EINVAL});
  if (name.family() != family_) return Fail(Errno{EAFNOSUPPORT});
  SocketName copy = name;
  if (rdma_bind_addr(id_.get(), copy.get()) != 0) return Fail(LastErrno());
  phase_ = Phase::kBound;
  return {};
}

ErrnoOr<void> StreamSocket::Listen(int backlog) {
  const MutexLock lock(lock_);
  if (phase_ == Phase::kListening) return {};
  if (phase_ == Phase::kNew) {
    SocketName any(family_);
    if (rdma_bind_addr(id_.get(), any.get()) != 0) return Fail(LastErrno());
    phase_ = Phase::kBound;
  }
  if (phase_ != Phase::kBound) return Fail(Errno{EINVAL});
  if (rdma_listen(id_.get(), std::clamp(backlog, 1, kBacklogMax)) != 0) return Fail(LastErrno());
  accept_queue_.emplace(backlog);
  const auto added = service_.Add(channel_.fd(), weak_from_this());
  if (!added) return Fail(added.error());
  is_served_ = true;
  phase_ = Phase::kListening;
  return {};
}

ErrnoOr<std::shared_ptr<Socket>> StreamSocket::Accept() {
  std::shared_ptr<StreamSocket> accepted;
  bool listens = true;
  const auto pop = [&](bool) {
    const MutexLock lock(lock_);
    readiness().Clear();
    listens = phase_ == Phase::kListening;
    if (!listens || accept_queue_->empty()) return !listens;
    if (accept_queue_->full()) service_.SetInterest(channel_.fd(), true);
    accepted = accept_queue_->Pop();
    if (!accept_queue_->empty()) readiness().Signal();
    return true;
  };
  if (!pop(false)) {
    if (!MayBlock(0)) return Fail(Errno{EAGAIN});
    if (const auto waited = WaitUntil(pop); !waited) return Fail(waited.error());
  }
  if (!listens) return Fail(Errno{EINVAL});
  accepted->Renumber();
  return accepted;
}

ErrnoOr<void> StreamSocket::Shutdown(int how) {
  if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) return Fail(Errno{EINVAL});
  {
    const MutexLock lock(lock_);
    if (phase_ != Phase::kConnected) return Fail(Errno{ENOTCONN});
    connection_->Shutdown(how);
    Advance(/*arm=*/true);
  }
  Announce();
  return {};
}

void StreamSocket::Close() {
  std::deque<std::shared_ptr<StreamSocket>> waiting;
  Time deadline = Now() + kCloseWait;
  bool connected = false;
  {
    const MutexLock lock(lock_);
    if (accept_queue_) waiting = accept_queue_->TakeAll();
    const linger& wait = options_.close_wait;
    if (wait.l_onoff != 0) deadline = Now() + Seconds(wait.l_linger);
    connected = phase_ == Phase::kConnected;
    // A linger time of 0 aborts the connection: the peer sees a reset.
    if (connected && Now() < deadline) connection_->Shutdown(SHUT_RDWR);
  }
  for (const auto& connection : waiting) connection->Close();
  const auto flushed = [&](bool arm) {
    const MutexLock lock(lock_);
    Advance(arm);
    return connection_->is_flushed();
  };
  while (connected && Now() < deadline) {
    const auto waited = WaitUntil(flushed, deadline);
    if (waited || waited.error().number != EINTR) break;
  }
  service_.Remove(channel_.fd());
  {
    const MutexLock lock(lock_);
    is_served_ = false;
    if (connected) rdma_disconnect(id_.get());
    phase_ = Phase::kClosed;
  }
  Announce();
}

void StreamSocket::Advance(bool arm) {
  if (arm) connection_->endpoint().cq().Arm();
  if (connection_->Progress()) watchers().Notify();
}

short StreamSocket::Poll(short events, bool arm) {
  const MutexLock lock(lock_);
  readiness().Clear();
  switch (phase_) {
    case Phase::kConnected:
      return PollConnected(events, arm);
    case Phase::kListening:
      return static_cast<short>(accept_queue_->empty() ? 0 : events & (POLLIN | POLLRDNORM));
    case Phase::kResolvingAddress:
    case Phase::kResolvingRoute:
    case Phase::kConnecting:
    case Phase::kAccepting:
      return 0;
    case Phase::kNew:
    case Phase::kBound:
      return static_cast<short>((events & POLLOUT) | POLLHUP);
    case Phase::kFailed:
      return static_cast<short>((events & (POLLIN | POLLOUT)) | POLLERR | POLLHUP);
    case Phase::kClosed:
      return POLLNVAL;
  }
  return 0;
}

short StreamSocket::PollConnected(short events, bool arm) {
  Advance(arm);
  int found = 0;
  if (connection_->receiver().readable() > 0 || !connection_->can_read()) {
    found |= POLLIN | POLLRDNORM;
  }
  if (!connection_->can_write() || connection_->sender().can_send()) found |= POLLOUT | POLLWRNORM;
  if (!connection_->can_read()) found |= POLLRDHUP;
  found &= events;
  // As with TCP: a program that stops at POLLHUP must not miss unread bytes.
  if (connection_->is_over() && connection_->receiver().readable() == 0) found |= POLLHUP;
  if (connection_->error() != 0) found |= POLLERR;
  return static_cast<short>(found);
}

void StreamSocket::OnDescriptorReadable() {
  const MutexLock lock(lock_);
  readiness().Clear();
  if (connection_ != nullptr) connection_->endpoint().cq().TakeEvents();
  watchers().Notify();
}

ErrnoOr<SocketName> StreamSocket::Name() {
  const MutexLock lock(lock_);
  return SocketName::From(rdma_get_local_addr(id_.get())).value_or(SocketName(family_));
}

ErrnoOr<SocketName> StreamSocket::PeerName() {
  const MutexLock lock(lock_);
  if (phase_ != Phase::kConnected) return Fail(Errno{ENOTCONN});
  const auto name = SocketName::From(rdma_get_peer_addr(id_.get()));
  if (!name) return Fail(Errno{ENOTCONN});
  return *name;
}

}  // namespace verbena::rsockets
