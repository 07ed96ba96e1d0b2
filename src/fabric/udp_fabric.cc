#include "fabric/udp_fabric.h"

#include <utility>

namespace verbena::fabric {

Result<std::unique_ptr<UdpFabric>, FabricError> UdpFabric::Open(const UdpFabricOptions& options) {
  auto socket = UdpSocket::Open(options.socket);
  if (!socket) return Fail(std::move(socket.error()));
  auto slot = ClaimSlot(*socket, options.slots);
  if (!slot) return Fail(std::move(slot.error()));
  // Not make_unique: the constructor is private.
  return std::unique_ptr<UdpFabric>(new UdpFabric(std::move(*socket), *slot, options));
}

UdpFabric::UdpFabric(UdpSocket socket, Slot slot, const UdpFabricOptions& options)
    : socket_(std::move(socket)),
      slot_(slot),
      port_(PortOf(slot, options.slots.base_port)),
      transmit_(socket_, options.transmit),
      receive_(socket_, options.receive),
      notes_(socket_.notes()) {}

std::vector<std::string> UdpFabric::TakeNotes() { return std::exchange(notes_, {}); }

}  // namespace verbena::fabric
