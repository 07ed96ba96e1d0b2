#include "adapter/cm/port_request.h"

namespace verbena::adapter {
namespace {

std::string AddressesOf(const PortRequest& request) {
  if (!request.is_wildcard()) return ToString(request.address);
  if (!request.covers_ipv6()) return "all IPv4 addresses";
  return request.covers_ipv4() ? "all addresses" : "all IPv6 addresses";
}

}  // namespace

std::string NameOf(wire::IpCmProtocol protocol) {
  switch (protocol) {
    case wire::IpCmProtocol::kTcp:
      return "tcp";
    case wire::IpCmProtocol::kUdp:
      return "udp";
    case wire::IpCmProtocol::kIb:
      return "ib";
  }
  return std::to_string(static_cast<unsigned>(protocol));  // unknown, in a received service id
}

std::string ToString(const PortRequest& request) {
  return NameOf(request.protocol) + " port " + std::to_string(request.port) + " of " +
         AddressesOf(request);
}

}  // namespace verbena::adapter
