#include "verbena/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/check.h"

namespace verbena {

std::optional<IpAddress> ParseIpAddress(std::string_view text) {
  const std::string terminated(text);
  if (terminated.size() != std::char_traits<char>::length(terminated.c_str())) return std::nullopt;
  IpAddress address;
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
  address = IpAddress::FromIpv4(0, 0, 0, 0);
  uint8_t* const ipv4 = &address.bytes[IpAddress::kIpv4Offset];
  if (inet_pton(AF_INET, terminated.c_str(), ipv4) == 1) return address;
  return std::nullopt;
}

std::string ToString(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool ipv4 = address.is_ipv4();
  const char* const result =
      inet_ntop(ipv4 ? AF_INET : AF_INET6, &address.bytes[ipv4 ? IpAddress::kIpv4Offset : 0],
                text.data(), text.size());
  CHECK(result != nullptr);
  return text.data();
}

}  // namespace verbena
