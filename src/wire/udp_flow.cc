#include "wire/udp_flow.h"

#include "base/check.h"

namespace verbena::wire {

IpUdpHeaders UdpFlow::HeadersFor(std::size_t payload_size, const IpFields& ip) const {
  CHECK(payload_size <= UINT16_MAX - UdpHeader::kSize);
  const auto length = static_cast<uint16_t>(UdpHeader::kSize + payload_size);
  IpUdpHeaders headers;
  const std::size_t ip_size =
      WriteIpHeader(source, destination, IpProtocol::kUdp, length, ip, headers.bytes_);
  UdpHeader{.source_port = source_port, .destination_port = destination_port, .length = length}
      .Serialize(std::span(headers.bytes_).subspan(ip_size));
  headers.size_ = ip_size + UdpHeader::kSize;
  return headers;
}

std::string ToString(const UdpFlow& flow) {
  return ToString(flow.source) + " port " + std::to_string(flow.source_port) + " -> " +
         ToString(flow.destination) + " port " + std::to_string(flow.destination_port);
}

}  // namespace verbena::wire
