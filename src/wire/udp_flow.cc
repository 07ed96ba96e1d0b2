#include "wire/udp_flow.h"

#include "base/check.h"
#include "wire/ipv4_header.h"

namespace verbena::wire {

IpUdpHeaders UdpFlow::HeadersFor(std::size_t payload_size, const IpFields& ip) const {
  constexpr std::size_t kMaxPayload = UINT16_MAX - Ipv4Header::kSize - UdpHeader::kSize;
  CHECK(payload_size <= kMaxPayload);
  const auto from = source.ipv4();
  const auto to = destination.ipv4();
  CHECK(from.has_value() == to.has_value());

  const auto udp_length = static_cast<uint16_t>(UdpHeader::kSize + payload_size);
  const std::size_t ip_size = from ? Ipv4Header::kSize : Ipv6Header::kSize;
  IpUdpHeaders headers;
  if (from) {
    const auto total_length = static_cast<uint16_t>(ip_size + udp_length);
    Ipv4Header{.type_of_service = ip.traffic_class,
               .total_length = total_length,
               .identification = ip.identification,
               .time_to_live = ip.hop_limit,
               .source = *from,
               .destination = *to}
        .Serialize(headers.bytes_);
  } else {
    Ipv6Header{.traffic_class = ip.traffic_class,
               .payload_length = udp_length,
               .hop_limit = ip.hop_limit,
               .source = source,
               .destination = destination}
        .Serialize(headers.bytes_);
  }
  UdpHeader{.source_port = source_port, .destination_port = destination_port, .length = udp_length}
      .Serialize(std::span(headers.bytes_).subspan(ip_size));
  headers.size_ = ip_size + UdpHeader::kSize;
  return headers;
}

std::string ToString(const UdpFlow& flow) {
  return ToString(flow.source) + " port " + std::to_string(flow.source_port) + " -> " +
         ToString(flow.destination) + " port " + std::to_string(flow.destination_port);
}

}  // namespace verbena::wire
