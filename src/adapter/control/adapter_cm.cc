// The calls of the connection manager.

#include <cerrno>
#include <type_traits>
#include <utility>

#include "adapter/control/adapter.h"
#include "adapter/control/endpoint_claims.h"
#include "adapter/control/impl.h"
#include "base/error.h"
#include "fabric/interfaces.h"

namespace verbena::adapter {

bool Adapter::is_iwarp() const { return IsIwarp(impl_->options.transport); }

// Makes one call under the engine's lock, with the current time, and sends the resulting datagrams
// or bytes of streams. `call` gets the connection manager of the transport, a Gsi or an IwarpCm,
// and the time.
template <class Call>
auto Adapter::CallCm(Call call) -> decltype(call(std::declval<Gsi&>(), Time())) {
  if (const auto dead = Dead()) return Fail(*dead);
  Engine& engine = impl_->engine;
  const EngineLock lock(engine);
  engine.ReadClock();
  auto result =
      engine.iwarp != nullptr ? call(*engine.iwarp, engine.now()) : call(engine.gsi, engine.now());
  engine.Pass();
  return result;
}

ErrorOr<CmEnd*> Adapter::CreateCmEnd(CmEventQueue& queue, PortSpace space, void* user) {
  const int before = impl_->engine.mailbox_fd();
  auto created = CallCm([&](auto& cm, Time) { return cm.Create(queue, space, user); });
  if (created && before < 0 && !is_iwarp()) {
    {
      const EngineLock lock(impl_->engine);
      impl_->engine.UpdateMailbox();
    }
    impl_->progress_thread.Arm();  // from now on it watches the mailbox
    impl_->wake.Signal();
  }
  return created;
}

ErrorOr<CmEnd*> Adapter::TakeCmRequest(const CmEvent& event, CmEventQueue& queue, void* user) {
  return CallCm([&](auto& cm, Time) { return cm.Take(event, queue, user); });
}

ErrorOr<void> Adapter::Destroy(CmEnd* end) {
  return CallCm([&](auto& cm, Time now) -> ErrorOr<void> {
    cm.Destroy(*end, now);
    return {};
  });
}

ErrorOr<void> Adapter::Bind(CmEnd& end, const CmAddress& address, bool reuse_address,
                            bool own_family_only) {
  const bool is_any = address.ip.is_unspecified() || address.ip == kAnyIpv4;
  errno = 0;
  if (!is_any && !address.ip.is_link_local() && !impl_->addresses.Has(address.ip)) {
    // Has needs a socket.
    if (errno != 0 && errno != EADDRNOTAVAIL) return Fail(SystemError("cannot check the address"));
    return Fail(Error{ErrorCode::kInvalid,
                      ToString(address.ip) + " is not an address of this machine", EADDRNOTAVAIL});
  }
  return CallCm(
      [&](auto& cm, Time) { return cm.Bind(end, address, reuse_address, own_family_only); });
}

ErrorOr<void> Adapter::Listen(CmEnd& end, uint32_t backlog, const StreamsServed& serves) {
  if (!is_iwarp() && serves != StreamsServed{}) {
    return Fail(Error{ErrorCode::kNotSupported,
                      "a choice of streams needs a device of the iWARP transport", EOPNOTSUPP});
  }
  auto listens = CallCm([&](auto& cm, Time now) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(cm)>, IwarpCm>) {
      return cm.Listen(end, backlog, serves, now);
    } else {
      return cm.Listen(end, backlog, now);
    }
  });
  if (!listens || is_iwarp()) return listens;
  const EngineLock lock(impl_->engine);
  impl_->engine.EnsureRocePort();
  return listens;
}

ErrorOr<void> Adapter::Connect(CmEnd& end, const IpAddress& from, const CmAddress& to,
                               const ConnectionParameters& parameters) {
  return CallCm([&](auto& cm, Time now) { return cm.Connect(end, from, to, parameters, now); });
}

ErrorOr<void> Adapter::Accept(CmEnd& end, const ConnectionParameters& parameters) {
  return CallCm([&](auto& cm, Time now) { return cm.Accept(end, parameters, now); });
}

ErrorOr<void> Adapter::Reject(CmEnd& end, const CmPrivateData& data, uint16_t reason) {
  return CallCm([&](auto& cm, Time now) { return cm.Reject(end, data, reason, now); });
}

ErrorOr<void> Adapter::Establish(CmEnd& end) {
  return CallCm([&](auto& cm, Time now) { return cm.Establish(end, now); });
}

ErrorOr<void> Adapter::NotifyEstablished(CmEnd& end) {
  return CallCm([&](auto& cm, Time now) { return cm.NotifyEstablished(end, now); });
}

ErrorOr<void> Adapter::Disconnect(CmEnd& end, const CmPrivateData& data) {
  return CallCm([&](auto& cm, Time now) { return cm.Disconnect(end, data, now); });
}

ErrorOr<void> Adapter::Migrate(CmEnd& end, CmEventQueue& queue) {
  return CallCm([&](auto& cm, Time) -> ErrorOr<void> {
    cm.Migrate(end, queue);
    return {};
  });
}

ErrorOr<CmAddress> Adapter::LocalAddressOf(const CmEnd& end) {
  return CallCm([&](auto&, Time) -> ErrorOr<CmAddress> { return end.local; });
}

ErrorOr<IpAddress> Adapter::SourceFor(const CmAddress& destination) {
  if (destination.ip.is_link_local() && destination.interface != 0) {
    const auto all = fabric::LocalAddresses();
    if (!all) return Fail(all.error());
    for (const fabric::LocalAddress& local : *all) {
      const bool is_there = local.interface_index == destination.interface &&
                            local.ip.is_link_local() &&
                            local.ip.is_ipv4() == destination.ip.is_ipv4();
      if (is_there) return local.ip;
    }
  }
  if (const auto source = fabric::UsualSource(destination.ip)) return *source;
  return Fail(
      Error{ErrorCode::kSystem, "there is no route to " + ToString(destination.ip), ENETUNREACH});
}

std::optional<CmEvent> Adapter::Wait(CmEventQueue& queue) { return impl_->waits.Wait(queue); }

}  // namespace verbena::adapter
