// How a StreamSocket is connected and disconnected.

#include <rdma/rdma_cma.h>

#include <array>
#include <utility>

#include "base/clock.h"
#include "rdmacm/rsocket/stream_socket.h"

namespace verbena::rsockets {
namespace {

// Both ends retry RNR NAKs without limit: a program that makes no calls for a while must not lose
// its connection. The other retry counter detects a lost peer.
constexpr uint8_t kRetryForever = 7;
constexpr uint8_t kRetryCount = 7;

}  // namespace

bool StreamSocket::IsConnecting() const {
  return phase_ == Phase::kResolvingAddress || phase_ == Phase::kResolvingRoute ||
         phase_ == Phase::kConnecting || phase_ == Phase::kAccepting;
}

ErrnoOr<void> StreamSocket::Connect(const SocketName& name) {
  {
    const MutexLock lock(lock_);
    if (phase_ == Phase::kConnected) return Fail(Errno{EISCONN});
    if (IsConnecting()) return Fail(Errno{EALREADY});
    if (phase_ == Phase::kFailed) {
      return Fail(Errno{error_ != 0 ? std::exchange(error_, 0) : ECONNABORTED});
    }
    if (phase_ != Phase::kNew && phase_ != Phase::kBound) return Fail(Errno{EOPNOTSUPP});
    if (name.family() != family_) return Fail(Errno{EAFNOSUPPORT});
    if (!is_served_) {
      const auto added = service_.Add(channel_.fd(), weak_from_this());
      if (!added) return Fail(added.error());
      is_served_ = true;
    }
    destination_ = name;
    tries_ = 0;
    ResolveAddress();
  }
  if (!MayBlock(0)) {
    const MutexLock lock(lock_);
    return Fail(Errno{phase_ == Phase::kFailed ? std::exchange(error_, 0) : EINPROGRESS});
  }
  const auto waited = WaitUntil([this](bool) {
    const MutexLock lock(lock_);
    return !IsConnecting();
  });
  if (!waited) return Fail(waited.error());
  const MutexLock lock(lock_);
  if (phase_ == Phase::kConnected) return {};
  return Fail(Errno{error_ != 0 ? std::exchange(error_, 0) : ECONNABORTED});
}

ErrnoOr<void> StreamSocket::AwaitConnected(int flags) {
  const auto state = [this](Errno while_connecting) -> ErrnoOr<void> {
    const MutexLock lock(lock_);
    if (phase_ == Phase::kConnected) return {};
    if (IsConnecting()) return Fail(while_connecting);
    if (phase_ == Phase::kClosed) return Fail(Errno{EBADF});
    return Fail(Errno{error_ != 0 ? std::exchange(error_, 0) : ENOTCONN});
  };
  const auto now = state({EAGAIN});
  if (now || now.error().number != EAGAIN || !MayBlock(flags)) return now;
  const auto waited = WaitUntil([this](bool) {
    const MutexLock lock(lock_);
    return !IsConnecting();
  });
  if (!waited) return Fail(waited.error());
  return state({EAGAIN});
}

void StreamSocket::OnReadable(int) {
  for (;;) {
    {
      const MutexLock lock(lock_);
      if (accept_queue_ && accept_queue_->full()) {
        // Further requests wait in the connection manager until raccept makes room.
        service_.SetInterest(channel_.fd(), false);
        return;
      }
    }
    const auto event = channel_.Next();
    if (!event) return;
    OnEvent(*event);
  }
}

void StreamSocket::OnEvent(const ConnectionEvent& event) {
  switch (event.type) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      OnRequest(event);
      return;
    case RDMA_CM_EVENT_ESTABLISHED:
      OnEstablished(event);
      return;
    case RDMA_CM_EVENT_ADDR_RESOLVED:
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR: {
      {
        const MutexLock lock(lock_);
        OnConnectStep(event);
      }
      Announce();
      return;
    }
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      OnLost(event);
      return;
    default:
      return;  // timewait, address changes: nothing to do
  }
}

void StreamSocket::OnConnectStep(const ConnectionEvent& event) {
  const bool timed_out = event.status == -ETIMEDOUT && tries_ < kResolveTries;
  if (phase_ == Phase::kResolvingAddress) {
    if (event.type == RDMA_CM_EVENT_ADDR_RESOLVED) {
      tries_ = 0;
      ResolveRoute();
    } else if (timed_out) {
      ResolveAddress();
    } else {
      FailConnect(event.error());
    }
  } else if (phase_ == Phase::kResolvingRoute) {
    if (event.type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
      SendRequest();
    } else if (timed_out) {
      ResolveRoute();
    } else {
      FailConnect(event.error());
    }
  }
}

void StreamSocket::ResolveAddress() {
  phase_ = Phase::kResolvingAddress;
  ++tries_;
  if (rdma_resolve_addr(id_.get(), nullptr, destination_->get(), kResolveTimeoutMs) != 0) {
    FailConnect(LastErrno());
  }
}

void StreamSocket::ResolveRoute() {
  phase_ = Phase::kResolvingRoute;
  ++tries_;
  // Setting a route that the program knows resolves it; the event comes nevertheless.
  const int failed = options_.route.empty()
                         ? rdma_resolve_route(id_.get(), kResolveTimeoutMs)
                         : rdma_set_option(id_.get(), RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
                                           options_.route.data(), options_.route.size());
  if (failed != 0) FailConnect(LastErrno());
}

ErrnoOr<void> StreamSocket::MakeConnection() {
  auto connection = StreamConnection::Make(id_.get(), options_.sizes);
  if (!connection) return Fail(connection.error());
  const auto added = readiness().Add((*connection)->endpoint().cq().fd());
  if (!added) return Fail(added.error());
  connection_ = std::move(*connection);
  options_.sizes = connection_->endpoint().sizes();
  return {};
}

void StreamSocket::SendRequest() {
  phase_ = Phase::kConnecting;
  if (const auto made = MakeConnection(); !made) {
    FailConnect(made.error());
    return;
  }
  std::array<std::byte, ConnectionHeader::kSize> header;
  connection_->header().Serialize(header);
  rdma_conn_param param{};
  param.private_data = header.data();
  param.private_data_len = header.size();
  param.flow_control = 1;
  param.retry_count = kRetryCount;
  param.rnr_retry_count = kRetryForever;
  // iWARP devices use a read to set up a connection.
  if (connection_->endpoint().sends_messages()) param.initiator_depth = 1;
  if (rdma_connect(id_.get(), &param) != 0) FailConnect(LastErrno());
}

void StreamSocket::FailConnect(Errno error) {
  phase_ = Phase::kFailed;
  error_ = error.number;
}

void StreamSocket::OnRequest(const ConnectionEvent& event) {
  OwnedCmId id(event.id);
  auto accepted = MakeAccepted(id, event);
  if (accepted) return;
  if (id != nullptr) rdma_reject(id.get(), nullptr, 0);
}

// On failure the caller keeps the id, unless the id was destroyed with a socket that was rejected
// here.
ErrnoOr<std::shared_ptr<StreamSocket>> StreamSocket::MakeAccepted(OwnedCmId& id,
                                                                  const ConnectionEvent& event) {
  const auto peer = ConnectionHeader::Parse(event.private_data());
  if (!peer) return Fail(Errno{EPROTO});
  auto readiness = ReadinessFile::Open();
  if (!readiness) return Fail(readiness.error());
  auto channel = CmEventChannel::Open();
  if (!channel) return Fail(channel.error());
  if (rdma_migrate_id(id.get(), channel->get()) != 0) return Fail(LastErrno());
  const auto accepted = std::make_shared<StreamSocket>(
      Private{}, std::move(*readiness), std::move(*channel), std::move(id), service_, family_);
  {
    const MutexLock lock(lock_);
    if (!accept_queue_) return Fail(Errno{ECONNABORTED});
    const MutexLock new_lock(accepted->lock_);
    accepted->options_ = options_;
    accepted->listener_ = weak_from_this();
    accepted->phase_ = Phase::kAccepting;
    accept_queue_->BeginHandshake(accepted);
  }
  const auto accept = [&]() -> ErrnoOr<void> {
    const MutexLock lock(accepted->lock_);
    if (const auto made = accepted->MakeConnection(); !made) return made;
    accepted->connection_->Start(*peer);
    const auto added = service_.Add(accepted->channel_.fd(), accepted);
    if (!added) return added;
    accepted->is_served_ = true;
    std::array<std::byte, ConnectionHeader::kSize> header;
    accepted->connection_->header().Serialize(header);
    rdma_conn_param param = event.param;
    param.private_data = header.data();
    param.private_data_len = header.size();
    param.rnr_retry_count = kRetryForever;
    if (rdma_accept(accepted->id_.get(), &param) != 0) return Fail(LastErrno());
    return {};
  };
  if (const auto done = accept(); !done) {
    rdma_reject(accepted->id_.get(), nullptr, 0);
    EndHandshake(accepted, /*succeeded=*/false);
    return Fail(done.error());
  }
  return accepted;
}

void StreamSocket::OnEstablished(const ConnectionEvent& event) {
  std::shared_ptr<StreamSocket> listener;
  {
    const MutexLock lock(lock_);
    listener = listener_.lock();
    if (phase_ == Phase::kAccepting) {
      phase_ = Phase::kConnected;
      SetKeepaliveTimer();
    } else if (phase_ == Phase::kConnecting) {
      const auto peer = ConnectionHeader::Parse(event.private_data());
      if (peer) {
        connection_->Start(*peer);
        phase_ = Phase::kConnected;
        SetKeepaliveTimer();
      } else {
        FailConnect({EPROTO});
        rdma_disconnect(id_.get());
      }
    }
  }
  if (listener != nullptr) listener->EndHandshake(shared_from_this(), /*succeeded=*/true);
  Announce();
}

void StreamSocket::OnLost(const ConnectionEvent& event) {
  std::shared_ptr<StreamSocket> listener;
  {
    const MutexLock lock(lock_);
    if (phase_ == Phase::kConnected) {
      connection_->OnDisconnected();
      rdma_disconnect(id_.get());  // responds to the peer; received bytes can still be read
    } else if (IsConnecting()) {
      if (phase_ == Phase::kAccepting) listener = listener_.lock();
      FailConnect(event.error());
    }
  }
  if (listener != nullptr) {
    service_.Remove(channel_.fd());
    listener->EndHandshake(shared_from_this(), /*succeeded=*/false);
  }
  Announce();
}

void StreamSocket::EndHandshake(const std::shared_ptr<StreamSocket>& connection, bool succeeded) {
  {
    const MutexLock lock(lock_);
    if (!accept_queue_) return;
    const bool was_full = accept_queue_->full();
    accept_queue_->EndHandshake(connection, succeeded);
    if (was_full && !accept_queue_->full()) service_.SetInterest(channel_.fd(), true);
  }
  if (succeeded) Announce();
}

void StreamSocket::OnTime() {
  const MutexLock lock(lock_);
  if (phase_ != Phase::kConnected || connection_->is_over()) return;
  connection_->SendKeepalive();
  SetKeepaliveTimer();
}

void StreamSocket::SetKeepaliveTimer() {
  if (phase_ != Phase::kConnected || !is_served_) return;
  service_.SetTimer(channel_.fd(),
                    options_.keepalive ? Now() + Seconds(options_.keepalive_idle) : Time::Never());
}

}  // namespace verbena::rsockets
