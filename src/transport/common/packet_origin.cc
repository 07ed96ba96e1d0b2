#include "transport/common/packet_origin.h"

#include <span>

#include "wire/ipv4_header.h"
#include "wire/ipv6_header.h"
#include "wire/udp_header.h"

namespace verbena::transport {

GrhBytes GrhOf(const PacketOrigin& origin, size_t packet_size) {
  static_assert(kGrhSize == wire::Ipv6Header::kSize);
  const size_t udp_size = wire::UdpHeader::kSize + packet_size;
  GrhBytes grh{};
  if (origin.is_ipv4()) {
    const wire::Ipv4Header header{
        .type_of_service = origin.traffic_class,
        .total_length = static_cast<uint16_t>(wire::Ipv4Header::kSize + udp_size),
        .time_to_live = origin.hop_limit,
        .source = *origin.source.ipv4(),
        .destination = *origin.destination.ipv4()};
    header.Serialize(std::span(grh).last(wire::Ipv4Header::kSize));
  } else {
    const wire::Ipv6Header header{.traffic_class = origin.traffic_class,
                                  .flow_label = origin.flow_label,
                                  .payload_length = static_cast<uint16_t>(udp_size),
                                  .hop_limit = origin.hop_limit,
                                  .source = origin.source,
                                  .destination = origin.destination};
    header.Serialize(grh);
  }
  return grh;
}

uint8_t NetworkHeaderOf(const PacketOrigin& origin) {
  constexpr uint8_t kIpv6 = 1, kIpv4 = 2, kUdp = 8;
  return kUdp | (origin.is_ipv4() ? kIpv4 : kIpv6);
}

}  // namespace verbena::transport
