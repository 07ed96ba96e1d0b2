// The calls about queue pairs and their destinations.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapter/control/adapter.h"
#include "adapter/control/endpoint_claims.h"
#include "adapter/control/impl.h"
#include "adapter/group_address.h"
#include "base/check.h"
#include "base/rollback.h"
#include "base/when_memory.h"
#include "fabric/multicast.h"

namespace verbena::adapter {
namespace {

using transport::QpAttribute;

ErrorOr<void> CheckLimits(const queue::WorkQueueLimits& wanted, const AdapterOptions& options) {
  if (wanted.capacity > options.queue_depth_max) {
    return Fail(LimitError(options.queue_depth_max, "elements of a queue", "queue_depth_max"));
  }
  if (wanted.sges_max > options.sges_max) {
    return Fail(LimitError(options.sges_max, "scatter/gather elements", "sges_max"));
  }
  if (wanted.inline_max > options.inline_max) {
    return Fail(LimitError(options.inline_max, "bytes of inline data", "inline_max"));
  }
  if (wanted.pages_max > options.fast_register_pages) {
    return Fail(LimitError(options.fast_register_pages, "pages of a fast registration",
                           "fast_register_pages"));
  }
  return {};
}

QpContext QpContextOf(const AdapterOptions& options, const transport::AddressHandles& handles) {
  transport::AttributeLimits limits;
  limits.port_max = transport::PortNumber(1);
  limits.p_key_index_max = transport::PKeyIndex(0);
  limits.max_rd_atomic_max = transport::RdAtomicDepth(options.reads_max);
  limits.max_dest_rd_atomic_max = transport::RdAtomicDepth(options.reads_max);
  return {.handles = &handles,
          .limits = limits,
          .ports = PortsOf(options),
          .transport = options.transport};
}

// The largest payload of a datagram on this path, as far as the system knows it.
uint32_t PayloadMaxOf(const AddressVector& vector) {
  const auto mtu = Adapter::LargestMtu(vector);
  return BytesOf(mtu ? *mtu : PathMtu::k4096);
}

// A queue pair with tag matching reads the bytes of a rendezvous, and answers the peer, through its
// own send queue.
void MakeRoomForRendezvous(QpInit& spec) {
  using transport::TagRendezvous;
  spec.receive_cq = spec.srq->tag_cq();
  spec.send.capacity += TagRendezvous::kElements;
  spec.send.sges_max = std::max(spec.send.sges_max, spec.srq->sges_max());
  spec.send.inline_max = std::max(spec.send.inline_max, TagRendezvous::kInlineBytes);
}

// Extended connections have one half at each end. The members of the other half are set to values
// that are never used.
QpInit Completed(QpInit spec) {
  if (spec.type == QpType::kXrcReceive && spec.xrc_domain != nullptr) {
    spec.send_cq = spec.receive_cq = &spec.xrc_domain->none;
    spec.send = {};
  } else {
    spec.xrc_domain = nullptr;
  }
  if (spec.type == QpType::kXrcSend) spec.receive_cq = spec.send_cq;
  if (spec.type == QpType::kXrcSend || spec.type == QpType::kXrcReceive) {
    spec.srq = nullptr;
    spec.receive = {};
  }
  return spec;
}

}  // namespace

ErrorOr<void> Adapter::CheckSpec(const QpInit& spec) const {
  if (spec.type == QpType::kXrcReceive && spec.xrc_domain == nullptr) {
    return Fail(InvalidError("the receiving end of an extended connection needs an XRC domain"));
  }
  if (spec.send_cq == nullptr || spec.receive_cq == nullptr) {
    return Fail(InvalidError("a queue pair needs a completion queue for each of its queues"));
  }
  if (spec.srq != nullptr && spec.srq->tags() != nullptr && spec.type != QpType::kRc) {
    return Fail(InvalidError("tag matching needs a queue pair of type RC"));
  }
  const bool has_tags = spec.srq != nullptr && spec.srq->tags() != nullptr;
  const bool is_stream = spec.type == QpType::kStream;
  const TransportType transport = impl_->options.transport;
  if (IsIwarp(transport) && ((spec.type != QpType::kRc && !is_stream) || has_tags)) {
    return Fail(Error{ErrorCode::kNotSupported,
                      "iWARP has queue pairs of types RC and STREAM only, without tag matching"});
  }
  if (is_stream && transport != TransportType::kIwarp) {
    return Fail(Error{ErrorCode::kNotSupported,
                      "a queue pair of type STREAM needs a device that speaks iWARP over TCP"});
  }
  if (is_stream && spec.srq != nullptr) {
    return Fail(InvalidError("a queue pair of type STREAM has a receive queue of its own"));
  }
  if (const auto ok = CheckLimits(spec.send, impl_->options); !ok) return ok;
  return CheckLimits(spec.receive, impl_->options);
}

ErrorOr<QueuePair*> Adapter::CreateQp(const QpInit& wanted) {
  if (const auto dead = Dead()) return Fail(*dead);
  QpInit spec = Completed(wanted);
  if (const auto ok = CheckSpec(spec); !ok) return Fail(ok.error());
  if (spec.srq != nullptr && spec.srq->tags() != nullptr) MakeRoomForRendezvous(spec);
  Engine& engine = impl_->engine;
  const EngineLock lock(engine);
  if (engine.memory.domains.Find(spec.pd) == nullptr) {
    return Fail(InvalidError("no such protection domain"));
  }
  const auto number = NextNumber(engine, impl_->options, impl_->progress_thread);
  if (!number) return Fail(number.error());
  // First the calls that allocate, and may fail.
  if (spec.xrc_domain != nullptr) spec.xrc_domain->MakeRoomForConnection();
  QueuePair& qp = engine.AddQp(
      std::make_unique<QueuePair>(*number, spec, QpContextOf(impl_->options, engine.handles)));
  engine.memory.domains.AddUser(spec.pd);
  ++spec.send_cq->users;
  ++spec.receive_cq->users;
  if (spec.srq != nullptr) ++spec.srq->users;
  if (spec.events != nullptr) ++spec.events->users;
  // Only the receivers of datagrams see the IP header; a connection knows the addresses.
  if (spec.type == QpType::kUd) engine.endpoints().Of(*number).ReportHeaders();
  if (spec.xrc_domain != nullptr) spec.xrc_domain->connections.push_back(&qp);
  return &qp;
}

ErrorOr<void> Adapter::Destroy(QueuePair* qp) {
  if (const auto dead = Dead()) return Fail(*dead);
  Engine& engine = impl_->engine;
  const EngineLock lock(engine);
  const QpNumber number = qp->number();
  if (engine.groups.IsAttached(number)) {
    return Fail(Error{ErrorCode::kInUse, "the queue pair is in a multicast group"});
  }
  const QpInit spec = qp->spec();
  if (spec.xrc_domain != nullptr) std::erase(spec.xrc_domain->connections, qp);
  const bool has_path = qp->has_path();
  const transport::PathId path = qp->attributes().path;
  engine.RemoveQp(*qp);  // it may still send on the path
  if (has_path) engine.paths.Remove(path);
  if (spec.events != nullptr) {
    spec.events->Forget([&](const Event& event) {
      return event.qp == number && event.cq == nullptr && event.srq == nullptr;
    });
    --spec.events->users;
  }
  engine.memory.domains.DropUser(spec.pd);
  --spec.send_cq->users;
  --spec.receive_cq->users;
  if (spec.srq != nullptr) --spec.srq->users;
  return {};
}

ErrorOr<void> Adapter::Modify(QueuePair& qp, const QpChange& change) {
  if (const auto dead = Dead()) return Fail(*dead);
  Engine& engine = impl_->engine;
  const EngineLock lock(engine);
  if (const auto ok = qp.CheckModify(change.attributes, change.mask); !ok) return ok;
  if (!change.mask.Has(QpAttribute::kPath)) {
    const bool is_reset =
        change.mask.Has(QpAttribute::kState) && change.attributes.state == QpState::kReset;
    const transport::PathId path = qp.attributes().path;
    engine.ModifyQp(qp, change.attributes, change.mask);
    if (is_reset) engine.paths.Remove(path);
    return {};
  }
  transport::QpSettings attributes = change.attributes;
  const bool has_mtu = change.mask.Has(QpAttribute::kPathMtu);
  const auto mtu = has_mtu ? attributes.path_mtu : qp.attributes().path_mtu;
  if (const auto ok = CheckMtu(change.path, mtu); !ok) return ok;
  const auto path = engine.paths.Add(change.path);
  if (!path) return Fail(path.error());
  attributes.path = *path;
  attributes.peer_is_here = engine.paths.Find(*path)->ends_here;
  const transport::PathId old = qp.attributes().path;
  const auto old_vector = qp.has_path() ? std::optional(qp.path()) : std::nullopt;
  Rollback added([&]() VERBENA_UNDER_CALLERS_LOCK {
    engine.paths.Remove(*path);
    qp.set_path(old_vector);
  });
  qp.set_path(change.path);
  engine.ModifyQp(qp, attributes, change.mask);
  added.Keep();
  if (old_vector) engine.paths.Remove(old);
  return {};
}

ErrorOr<QpStatus> Adapter::Query(QueuePair& qp) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  QpStatus report{.state = qp.state(),
                  .is_draining = qp.is_draining(),
                  .attributes = qp.attributes(),
                  .counters = qp.counters()};
  report.attributes.state = report.attributes.current_state = report.state;
  if (qp.has_path()) report.path = qp.path();
  return report;
}

ErrorOr<AddressHandleId> Adapter::CreateAddressHandle(memory::PdId pd, const AddressVector& wanted,
                                                      PathMtu port_mtu) {
  if (const auto dead = Dead()) return Fail(*dead);
  const AddressVector vector = Resolved(wanted);
  const uint32_t payload_max = std::min(PayloadMaxOf(vector), BytesOf(port_mtu));
  const EngineLock lock(impl_->engine);
  if (impl_->engine.memory.domains.Find(pd) == nullptr)
    return Fail(InvalidError("no such protection domain"));
  const auto path = impl_->engine.paths.Add(vector);
  if (!path) return Fail(path.error());
  AddressHandleId id;
  do {
    id = AddressHandleId(++impl_->last_handle);
  } while (impl_->handles.contains(id));
  Rollback added([&]() VERBENA_UNDER_CALLERS_LOCK {
    impl_->handles.erase(id);
    impl_->engine.paths.Remove(*path);
  });
  impl_->handles.emplace(id, Impl::Handle{pd, *path});
  impl_->engine.handles.Add(id, pd, *path, payload_max);
  added.Keep();
  impl_->engine.memory.domains.AddUser(pd);
  return id;
}

ErrorOr<void> Adapter::DestroyAddressHandle(AddressHandleId handle) {
  if (const auto dead = Dead()) return Fail(*dead);
  const EngineLock lock(impl_->engine);
  const auto found = impl_->handles.find(handle);
  if (found == impl_->handles.end()) return Fail(InvalidError("no such address handle"));
  impl_->engine.handles.Remove(handle);
  impl_->engine.paths.Remove(found->second.path);
  impl_->engine.memory.domains.DropUser(found->second.pd);
  impl_->handles.erase(found);
  return {};
}

ErrorOr<void> Adapter::AttachMulticast(QueuePair& qp, const IpAddress& gid) {
  if (const auto dead = Dead()) return Fail(*dead);
  if (qp.spec().type != QpType::kUd)
    return Fail(InvalidError("only a queue pair of type UD can join a multicast group"));
  const IpAddress group = GroupAddress(gid);
  Engine& engine = impl_->engine;
  const EngineLock lock(engine);
  const auto endpoint = MulticastEndpoint(engine, impl_->options, impl_->progress_thread);
  if (!endpoint) return Fail(endpoint.error());
  const bool is_first = engine.groups.MembersOf(group).empty();
  const auto attached = engine.groups.Attach(group, qp.number());
  if (!attached) return Fail(InvalidError(NameOf(attached.error())));
  if (!is_first) return {};
  Rollback member([&]() VERBENA_UNDER_CALLERS_LOCK {
    static_cast<void>(engine.groups.Detach(group, qp.number()));
  });
  if (const auto joined = (*endpoint)->Join(group); !joined) return Fail(joined.error());
  member.Keep();
  return {};
}

ErrorOr<void> Adapter::DetachMulticast(QueuePair& qp, const IpAddress& gid) {
  if (const auto dead = Dead()) return Fail(*dead);
  const IpAddress group = GroupAddress(gid);
  Engine& engine = impl_->engine;
  const EngineLock lock(engine);
  const auto detached = engine.groups.Detach(group, qp.number());
  if (!detached) return Fail(InvalidError(NameOf(detached.error())));
  if (engine.groups.MembersOf(group).empty()) {
    // If there is no memory, the socket stays in the group, and receives what no queue pair
    // accepts.
    static_cast<void>(WhenMemory([&]() VERBENA_UNDER_CALLERS_LOCK {
      fabric::Fabric* const endpoint =
          engine.endpoints().FindBelow(impl_->options.multicast_endpoints);
      CHECK(endpoint != nullptr);  // since it was attached
      endpoint->Leave(group);
    }));
  }
  return {};
}

}  // namespace verbena::adapter
