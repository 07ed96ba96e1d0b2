#include "adapter/objects/stream_files.h"

#include <algorithm>

#include "wire/iwarp/ddp_session.h"

namespace verbena::adapter {

using fabric::Interest;
using fabric::ReadyId;

ErrorOr<StreamFiles> StreamFiles::Open(StreamWire wire) {
  auto set = fabric::ReadySet::Open();
  if (!set) return Fail(set.error());
  StreamFiles files(std::move(*set));
  if (wire == StreamWire::kTcp) return files;
  auto hub = fabric::SctpHub::Open();
  if (!hub) return Fail(hub.error());
  files.hub_ = std::move(*hub);
  files.scratch_ = std::make_unique<std::vector<std::byte>>(fabric::SctpSocket::kMessageMax);
  if (!files.set_.Watch(files.hub_->fd(), kHub, {}, {.reads = true})) {
    return Fail(SystemError("cannot watch SCTP ports"));
  }
  return files;
}

ErrorOr<IwarpSocket> StreamFiles::Bind(const CmAddress& address, bool own_family_only) const {
  if (hub_ == nullptr) {
    auto tcp = fabric::TcpSocket::Bind(address, {.own_family_only = own_family_only});
    if (!tcp) return Fail(tcp.error());
    return IwarpSocket(std::move(*tcp));
  }
  auto sctp = fabric::SctpSocket::Bind(*hub_, address, wire::kDdpAdaptation,
                                       {.own_family_only = own_family_only});
  if (!sctp) return Fail(sctp.error());
  return IwarpSocket(std::make_unique<SctpStream>(std::move(*sctp), transport::DdpRole::kInitiator,
                                                  std::span(*scratch_)));
}

bool StreamFiles::Watch(const IwarpSocket& socket, ReadyId id, Interest before,
                        Interest wanted) const {
  if (SctpStream* const sctp = socket.sctp()) {
    sctp->socket().Watch(id, wanted, sctp->has_more());
    return true;
  }
  return set_.Watch(socket.tcp().fd(), id, before, wanted);
}

std::span<const ReadyId> StreamFiles::Look(fabric::ReadySet::Ready& room, Time now) const {
  const auto ready = set_.Look(room);
  if (hub_ == nullptr) return ready;
  if (!ready.empty()) hub_->Pump(now);
  return std::span(room).first(hub_->TakeReady(room));
}

}  // namespace verbena::adapter
