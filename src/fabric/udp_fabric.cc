#include "fabric/udp_fabric.h"

#include <utility>

#include "fabric/multicast.h"

namespace verbena::fabric {

ErrorOr<std::unique_ptr<UdpFabric>> UdpFabric::Open(const UdpFabricOptions& options) {
  auto socket = UdpSocket::Open(options.socket);
  if (!socket) return Fail(std::move(socket.error()));
  auto endpoint = ClaimEndpoint(*socket, options.endpoint);
  if (!endpoint) return Fail(std::move(endpoint.error()));
  // Not make_unique, because the constructor is private.
  return std::unique_ptr<UdpFabric>(new UdpFabric(std::move(*socket), *endpoint, options));
}

UdpFabric::UdpFabric(UdpSocket socket, EndpointId endpoint, const UdpFabricOptions& options)
    : Fabric(endpoint, options.endpoint.ports.PortOf(endpoint), transmit_),
      socket_(std::move(socket)),
      transmit_(socket_, options.transmit),
      receive_(socket_, options.receive),
      warnings_(socket_.warnings()) {}

ErrorOr<void> UdpFabric::Join(const IpAddress& group) { return JoinGroup(socket_, group); }

void UdpFabric::Leave(const IpAddress& group) { LeaveGroup(socket_, group); }

std::vector<std::string> UdpFabric::TakeWarnings() { return std::exchange(warnings_, {}); }

}  // namespace verbena::fabric
