#include "fabric/address.h"

namespace verbena::fabric {

std::string ToString(const UdpAddress& endpoint) {
  const std::string ip = ToString(endpoint.ip);
  return (endpoint.ip.is_ipv4() ? ip : '[' + ip + ']') + ':' + std::to_string(endpoint.port);
}

}  // namespace verbena::fabric
