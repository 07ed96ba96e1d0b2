#pragma once

#include <cstdint>
#include <string>

#include "adapter/cm/port_request.h"
#include "verbena/ip_address.h"
#include "wire/mad/ip_cm.h"

namespace verbena::adapter {

// The names of the locks of a port space, which are also the names of its mailboxes. A port space
// belongs to a network namespace and a RoCEv2 port: peers with another base port are another
// fabric.
//
//   verbena/cm/4791/tcp/7471/10.0.0.1    one address of a port
//   verbena/cm/4791/tcp/7471/ipv4        all IPv4 addresses of it; "ipv6" likewise
//   verbena/cm/4791/tcp/block/32768      the ephemeral ports from 32768 to 32831
//
// A value type.
class PortNames {
 public:
  explicit PortNames(uint16_t base_port)
      : prefix_("verbena/cm/" + std::to_string(base_port) + "/") {}

  [[nodiscard]] std::string OfAddress(const wire::IpCmService& service,
                                      const IpAddress& address) const {
    return OfPort(service) + ToString(address);
  }
  [[nodiscard]] std::string OfIpv4(const wire::IpCmService& service) const {
    return OfPort(service) + "ipv4";
  }
  [[nodiscard]] std::string OfIpv6(const wire::IpCmService& service) const {
    return OfPort(service) + "ipv6";
  }
  // REQUIRES: IsEphemeral(service.port).
  [[nodiscard]] std::string OfBlock(const wire::IpCmService& service) const {
    return prefix_ + NameOf(service.protocol) + "/block/" +
           std::to_string(FirstOfBlock(service.port));
  }

 private:
  [[nodiscard]] std::string OfPort(const wire::IpCmService& service) const {
    return prefix_ + NameOf(service.protocol) + "/" + std::to_string(service.port) + "/";
  }

  std::string prefix_;
};

}  // namespace verbena::adapter
