#include "adapter/cm/port_registry.h"

#include <cerrno>
#include <string>

#include "adapter/cm/bind_permission.h"
#include "adapter/cm/port_locks.h"

namespace verbena::adapter {

ErrorOr<std::unique_ptr<PortRegistry>> PortRegistry::Open(const PortRegistryOptions& options) {
  auto mailboxes = MadMailboxes::Open(options.base_port);
  if (!mailboxes) return Fail(std::move(mailboxes.error()));
  auto forwarder = MadForwarder::Open(options.base_port);
  if (!forwarder) return Fail(std::move(forwarder.error()));
  return std::unique_ptr<PortRegistry>(
      new PortRegistry(options, std::move(*mailboxes), std::move(*forwarder)));
}

ErrorOr<PortClaim> PortRegistry::Claim(const PortRequest& request) {
  if (request.port == 0) {
    const auto port = blocks_.BindAny(request);
    if (!port) return Fail(port.error());
    PortRequest bound = request;
    bound.port = *port;
    return PortClaim(*this, bound, {});
  }
  if (!MayBindPort(request.port)) {
    return Fail(
        SystemError(EACCES, ToString(request) + " needs CAP_NET_BIND_SERVICE: only ports from " +
                                std::to_string(FirstUnprivilegedPort()) +
                                " on are for all (sysctl net.ipv4.ip_unprivileged_port_start)"));
  }
  if (blocks_.Has(request.service())) {
    if (auto bound = blocks_.Bind(request); !bound) return Fail(std::move(bound.error()));
    return PortClaim(*this, request, {});
  }
  auto locks = LockPort(names_, request, random_);
  if (!locks) return Fail(std::move(locks.error()));
  if (auto added = AddMailboxes(request, *locks); !added) return Fail(std::move(added.error()));
  return PortClaim(*this, request, std::move(*locks));
}

ErrorOr<void> PortRegistry::MakeExclusive(PortClaim& claim) {
  PortRequest exclusive = claim.request_;
  exclusive.reuse_address = false;
  if (claim.locks_.empty()) {
    if (auto done = blocks_.MakeExclusive(claim.request_); !done) return done;
  } else {
    auto locks = LockPort(names_, exclusive, random_, claim.locks_);
    if (!locks) return Fail(std::move(locks.error()));
    if (auto added = AddMailboxes(exclusive, *locks); !added) return added;
    claim.locks_ = std::move(*locks);
  }
  claim.request_ = exclusive;
  return {};
}

void PortRegistry::Release(PortClaim& claim) {
  if (claim.locks_.empty()) {
    blocks_.Release(claim.request_);
  } else {
    RemoveMailboxes(claim.locks_);
  }
}

ErrorOr<void> PortRegistry::AddMailboxes(const PortRequest& request,
                                         std::span<const NameLock> locks) {
  for (const NameLock& lock : locks) {
    if (lock.mode() != LockMode::kExclusive) continue;
    auto added = mailboxes_.Add(lock.fd(), {.protocol = request.protocol, .first = request.port});
    if (added) continue;
    RemoveMailboxes(locks);
    return added;
  }
  return {};
}

void PortRegistry::RemoveMailboxes(std::span<const NameLock> locks) {
  for (const NameLock& lock : locks) mailboxes_.Remove(lock.fd());
}

}  // namespace verbena::adapter
