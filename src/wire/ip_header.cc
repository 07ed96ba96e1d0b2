#include "wire/ip_header.h"

#include "base/check.h"
#include "wire/ipv4_header.h"

namespace verbena::wire {

std::size_t WriteIpHeader(const IpAddress& source, const IpAddress& destination,
                          IpProtocol protocol, std::size_t length, const IpFields& ip,
                          std::span<std::byte> bytes) {
  CHECK(length <= UINT16_MAX - Ipv4Header::kSize);
  const auto from = source.ipv4();
  const auto to = destination.ipv4();
  CHECK(from.has_value() == to.has_value());
  if (from) {
    Ipv4Header{.type_of_service = ip.traffic_class,
               .total_length = static_cast<uint16_t>(Ipv4Header::kSize + length),
               .identification = ip.identification,
               .time_to_live = ip.hop_limit,
               .protocol = protocol,
               .source = *from,
               .destination = *to}
        .Serialize(bytes);
    return Ipv4Header::kSize;
  }
  Ipv6Header{.traffic_class = ip.traffic_class,
             .payload_length = static_cast<uint16_t>(length),
             .protocol = protocol,
             .hop_limit = ip.hop_limit,
             .source = source,
             .destination = destination}
      .Serialize(bytes);
  return Ipv6Header::kSize;
}

}  // namespace verbena::wire
