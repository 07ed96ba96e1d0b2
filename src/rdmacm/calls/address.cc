// Addresses of ids: binding, resolving, listening.

#include "rdmacm/objects/address.h"

#include <cxxabi.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/result.h"
#include "base/rollback.h"
#include "rdmacm/failure.h"
#include "rdmacm/objects/completion.h"
#include "rdmacm/objects/id.h"
#include "rdmacm/objects/path.h"

namespace verbena::rdmacm {
namespace {

PortSpace SpaceOf(const Id& id) {
  if (id.ps == RDMA_PS_TCP) return PortSpace::kTcp;
  return id.ps == RDMA_PS_IB ? PortSpace::kIb : PortSpace::kUdp;
}

ErrorOr<void> Bind(Id& id, const CmAddress& address) {
  if (id.state != IdState::kIdle) return Fail(Invalid("the id is already bound to an address"));
  const auto device = SharedDevice::Get();
  if (!device) return Fail(device.error());
  auto made =
      CmId::Create((*device)->handle(), *Cast(id.channel).handle, SpaceOf(id), ToUser(id.key));
  if (!made) return Fail(made.error());
  if (auto bound = made->Bind(address, id.options.bind); !bound) return bound;
  // An id that is bound to a wildcard address has no device yet.
  if (!IsWildcard(address.ip)) {
    if (auto ok = AttachDevice(id); !ok) return ok;
  }
  id.handle = std::move(*made);
  ShowLocal(id, {.ip = address.ip, .port = id.handle.local().port, .interface = address.interface});
  id.state = IdState::kBound;
  return {};
}

// The local address for packets to `destination`.
ErrorOr<CmAddress> SourceFor(const Id& id, const CmAddress& destination) {
  CmAddress source = LocalOf(id);
  if (source.ip.is_ipv4() != destination.ip.is_ipv4()) {
    return Fail(Invalid("source and destination must both be IPv4 or both be IPv6"));
  }
  if (!IsWildcard(source.ip)) return source;
  const auto found = SourceAddressFor(destination);
  if (!found) return Fail(found.error());
  source.ip = *found;
  if (source.ip.is_link_local()) source.interface = destination.interface;
  return source;
}

// Changes the state and posts the event, or does neither. Another thread may take the event before
// this call returns.
ErrorOr<void> Advance(Id& id, IdState to, rdma_cm_event_type event) {
  const IdState from = id.state;
  id.state = to;
  Rollback changed([&] { id.state = from; });
  auto posted = PostEvent(id, {.type = event});
  if (posted) changed.Keep();
  return posted;
}

ErrorOr<void> Resolve(Id& id, const sockaddr* from, const sockaddr& to) {
  CmAddress destination = FromSockaddr(to);
  if (id.state == IdState::kIdle) {
    const CmAddress source =
        from != nullptr ? FromSockaddr(*from) : CmAddress{.ip = WildcardOf(to.sa_family)};
    if (auto ok = Bind(id, source); !ok) return ok;
  }
  if (id.state != IdState::kBound) return Fail(Invalid("the id already has a destination"));
  if (IsWildcard(destination.ip)) destination.ip = LoopbackOf(destination.ip);
  const auto source = SourceFor(id, destination);
  if (!source) return Fail(source.error());
  if (auto ok = AttachDevice(id); !ok) return ok;
  if (const auto index = id.device->GidIndexOf(source->ip, source->interface); !index) {
    return PostEvent(id, {.type = RDMA_CM_EVENT_ADDR_ERROR,
                          .status = -ibverbs::Failed("rdma_resolve_addr", index.error())});
  }
  ShowLocal(id, *source);
  ShowRemote(id, destination);
  return Advance(id, IdState::kAddressResolved, RDMA_CM_EVENT_ADDR_RESOLVED);
}

ErrorOr<void> ResolveRoute(Id& id) {
  if (id.state != IdState::kAddressResolved) {
    return Fail(Invalid("call rdma_resolve_addr first, and rdma_resolve_route only once"));
  }
  if (auto ok = ShowPath(id, MtuOf(id)); !ok) return ok;
  return Advance(id, IdState::kRouteResolved, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

ErrorOr<void> Listen(Id& id, int backlog) {
  constexpr int kBacklogMax = 1024;  // as in Linux
  if (id.state == IdState::kIdle) {
    if (auto ok = Bind(id, {.ip = WildcardOf(AF_INET)}); !ok) return ok;
  }
  if (id.state != IdState::kBound) return Fail(Invalid("the id already listens, or is connected"));
  const int granted = backlog > 0 ? std::min(backlog, kBacklogMax) : kBacklogMax;
  if (auto ok = id.handle.Listen(static_cast<uint32_t>(granted)); !ok) return ok;
  id.state = IdState::kListen;
  return {};
}

}  // namespace
}  // namespace verbena::rdmacm

using namespace verbena::rdmacm;  // NOLINT(google-build-using-namespace): the calls are global

int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) try {
  if (id == nullptr || LengthOf(address) == 0) return MinusOne(EINVAL);
  const auto ok = Bind(Cast(id), FromSockaddr(*address));
  return ok ? 0 : Failed("rdma_bind_addr", ok.error());
} catch (...) {
  return MinusOne(Thrown("rdma_bind_addr"));
}

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination,
                      int /*timeout_ms*/) try {
  if (id == nullptr || LengthOf(destination) == 0) return MinusOne(EINVAL);
  if (source != nullptr && LengthOf(source) == 0) return MinusOne(EINVAL);
  const auto ok = Resolve(Cast(id), source, *destination);
  return ok ? Complete(Cast(id)) : Failed("rdma_resolve_addr", ok.error());
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel of a thread in a synchronous call
} catch (...) {
  return MinusOne(Thrown("rdma_resolve_addr"));
}

int rdma_resolve_route(rdma_cm_id* id, int /*timeout_ms*/) try {
  if (id == nullptr) return MinusOne(EINVAL);
  const auto ok = ResolveRoute(Cast(id));
  return ok ? Complete(Cast(id)) : Failed("rdma_resolve_route", ok.error());
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel of a thread in a synchronous call
} catch (...) {
  return MinusOne(Thrown("rdma_resolve_route"));
}

int rdma_listen(rdma_cm_id* id, int backlog) try {
  if (id == nullptr) return MinusOne(EINVAL);
  const auto ok = Listen(Cast(id), backlog);
  return ok ? 0 : Failed("rdma_listen", ok.error());
} catch (...) {
  return MinusOne(Thrown("rdma_listen"));
}

__be16 rdma_get_src_port(rdma_cm_id* id) { return PortOf(id->route.addr.src_addr); }

__be16 rdma_get_dst_port(rdma_cm_id* id) { return PortOf(id->route.addr.dst_addr); }
