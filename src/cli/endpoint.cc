#include "cli/endpoint.h"

#include <utility>

namespace verbena::cli {
namespace {

// Moves the object to `place`, or returns the error.
template <class T>
ErrorOr<void> Keep(T& place, ErrorOr<T> made) {
  if (!made) return tl::unexpected(std::move(made.error()));
  place = std::move(*made);
  return {};
}

}  // namespace

ErrorOr<std::unique_ptr<Endpoint>> Endpoint::Open(const EndpointSpec& spec) {
  std::unique_ptr<Endpoint> endpoint(new Endpoint(spec));
  return endpoint->OpenAll().map([&] { return std::move(endpoint); });
}

ErrorOr<void> Endpoint::OpenAll() {
  const size_t completions = size_t{spec_.qps} * (spec_.depth + spec_.receives);
  // With --self both ends are in one process; each has an adapter, so packets go over loopback.
  Options options;
  options.dedicated_adapter = true;
  auto done = Keep(context_, Context::Open(options));
  if (done) done = Keep(domain_, ProtectionDomain::Allocate(context_));
  if (done) done = Keep(region_, MemoryRegion::Register(domain_, memory_, Access::kAll));
  if (done) done = Keep(cq_, CompletionQueue::Create(context_, completions));
  for (uint32_t i = 0; done && i < spec_.qps; ++i) done = AddQp();
  return done;
}

ErrorOr<void> Endpoint::AddQp() {
  const QpSpec spec{.type = spec_.type,
                    .send_cq = &cq_,
                    .receive_cq = &cq_,
                    .send = {.capacity = spec_.depth},
                    .receive = {.capacity = spec_.receives}};
  auto qp = QueuePair::Create(domain_, spec);
  if (!qp) return tl::unexpected(std::move(qp.error()));
  qps_.push_back(std::move(*qp));
  return spec_.type == QpType::kUd ? qps_.back().Activate(kQKey) : qps_.back().Prepare();
}

Hello Endpoint::SayHello(const Gid& gid) const {
  Hello hello{.memory = region_.Remote(), .bytes = memory_.size()};
  for (size_t i = 0; i < qps_.size(); ++i) {
    hello.qps.push_back({.qp = qps_[i].number(), .gid = gid, .psn = FirstPsn(i)});
  }
  return hello;
}

ErrorOr<void> Endpoint::Connect(const Gid& gid, const Hello& peer, PathMtu mtu,
                                uint32_t interface) {
  if (peer.qps.size() != qps_.size()) {
    return tl::unexpected(Error{.code = ErrorCode::kInvalid,
                                .text = "the other end has a different number of queue pairs"});
  }
  peer_ = peer;
  spec_.connect.path_mtu = mtu;
  spec_.connect.interface = interface;
  if (spec_.type == QpType::kUd) return FindWay(gid);
  const Hello own = SayHello(gid);
  for (size_t i = 0; i < qps_.size(); ++i) {
    if (auto done = qps_[i].Connect(own.qps[i], peer.qps[i], spec_.connect); !done) return done;
  }
  return {};
}

ErrorOr<void> Endpoint::FindWay(const Gid& gid) {
  auto way = AddressHandle::Create(
      domain_,
      {.source = gid, .destination = peer_.qps[0].gid, .interface = spec_.connect.interface});
  if (!way) return tl::unexpected(std::move(way.error()));
  way_ = std::move(*way);
  return {};
}

std::optional<Datagram> Endpoint::to(QpNumber qp) const {
  if (spec_.type != QpType::kUd) return std::nullopt;
  return Datagram{.handle = way_.id(), .qp = qp, .q_key = kQKey};
}

// Any PSN is valid. Different ones for each queue pair make late packets of an earlier connection
// unlikely to be accepted.
Psn Endpoint::FirstPsn(size_t qp) const {
  constexpr uint32_t kFactor = 0x9E'3779;
  return Psn{(qps_[qp].number().value() * kFactor) & 0xFF'FFFFU};
}

}  // namespace verbena::cli
