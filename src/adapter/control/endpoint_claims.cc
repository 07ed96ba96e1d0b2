#include "adapter/control/endpoint_claims.h"

#include <utility>

namespace verbena::adapter {
namespace {

fabric::UdpFabricOptions FabricOptions(const AdapterOptions& options, fabric::EndpointUse use,
                                       uint64_t n) {
  fabric::UdpFabricOptions fabric;
  fabric.endpoint = {.ports = PortsOf(options).ports,
                     .count = options.endpoints_max,
                     .multicast = options.multicast_endpoints,
                     .use = use,
                     .strict = options.strict,
                     .seed = options.identity_seed + n};
  fabric.socket.offloads = !options.plain_sockets;
  // In addition to the packets of a full outbox, the copies of multicast datagrams.
  fabric.transmit.messages = options.outbox_packets + size_t{options.multicast_endpoints};
  return fabric;
}

ErrorOr<void> AddEndpoint(Engine& engine, const AdapterOptions& options, fabric::EndpointUse use,
                          ProgressThread& progress_thread) VERBENA_REQUIRES(engine) {
  auto fabric = OpenEndpoint(options, use, engine.endpoints().size());
  if (!fabric) return Fail(fabric.error());
  if (const auto added = engine.AddEndpoint(std::move(*fabric)); !added) return added;
  progress_thread.Notice();  // it may be waiting for the other endpoints only
  return {};
}

}  // namespace

ErrorOr<std::unique_ptr<fabric::Fabric>> OpenEndpoint(const AdapterOptions& options,
                                                      fabric::EndpointUse use, uint64_t n) {
  auto fabric = fabric::UdpFabric::Open(FabricOptions(options, use, n));
  if (!fabric) return Fail(std::move(fabric.error()));
  return std::unique_ptr<fabric::Fabric>(std::move(*fabric));
}

std::unique_ptr<fabric::Fabric> OpenRocePort(const AdapterOptions& options) {
  fabric::UdpFabricOptions fabric = FabricOptions(options, fabric::EndpointUse::kFirst, 0);
  fabric.endpoint.strict = true;  // this endpoint or none
  auto opened = fabric::UdpFabric::Open(fabric);
  return opened ? std::move(*opened) : nullptr;
}

ErrorOr<QpNumber> NextNumber(Engine& engine, const AdapterOptions& options,
                             ProgressThread& progress_thread) {
  if (const auto number = engine.qps.NextNumber()) return *number;
  if (engine.qps.is_full() || !engine.qps.has_room_for_endpoint()) {
    return Fail(LimitError(options.qps_max, "queue pairs", "qps_max"));
  }
  if (options.strict) {
    engine.AddNumbers();
  } else if (const auto added =
                 AddEndpoint(engine, options, fabric::EndpointUse::kMore, progress_thread);
             !added) {
    return Fail(added.error());
  }
  return *engine.qps.NextNumber();
}

ErrorOr<fabric::Fabric*> MulticastEndpoint(Engine& engine, const AdapterOptions& options,
                                           ProgressThread& progress_thread) {
  const uint32_t end = options.multicast_endpoints;
  if (engine.endpoints().FindBelow(end) == nullptr) {
    const auto added =
        AddEndpoint(engine, options, fabric::EndpointUse::kMulticast, progress_thread);
    if (!added) return Fail(added.error());
  }
  fabric::Fabric* const fabric = engine.endpoints().FindBelow(end);
  fabric->ReportHeaders();
  return fabric;
}

}  // namespace verbena::adapter
