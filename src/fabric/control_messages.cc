#include "fabric/control_messages.h"

#include <netinet/udp.h>

#include <cstring>

#include "base/check.h"

namespace verbena::fabric {
namespace {

template <class T>
T Load(const cmsghdr& header) {
  T value{};
  CHECK(header.cmsg_len >= CMSG_LEN(sizeof(value)));
  std::memcpy(&value, CMSG_DATA(&header), sizeof(value));
  return value;
}

void DecodeIpv4(const cmsghdr& header, Arrival& arrival) {
  if (header.cmsg_type == IP_PKTINFO) {
    const auto info = Load<in_pktinfo>(header);
    arrival.to = FromInAddr(info.ipi_addr);
    arrival.interface = static_cast<uint32_t>(info.ipi_ifindex);
  } else if (header.cmsg_type == IP_TOS) {
    arrival.traffic_class = Load<uint8_t>(header);
  }
}

void DecodeIpv6(const cmsghdr& header, Arrival& arrival) {
  if (header.cmsg_type == IPV6_PKTINFO) {
    const auto info = Load<in6_pktinfo>(header);
    arrival.to = FromIn6Addr(info.ipi6_addr);
    arrival.interface = info.ipi6_ifindex;
  } else if (header.cmsg_type == IPV6_TCLASS) {
    arrival.traffic_class = static_cast<uint8_t>(Load<int>(header));
  }
}

}  // namespace

template <class T>
void ControlMessages::Append(int level, int type, const T& value) {
  CHECK(size_ + CMSG_SPACE(sizeof(value)) <= kCapacity);
  const cmsghdr header{.cmsg_len = CMSG_LEN(sizeof(value)), .cmsg_level = level, .cmsg_type = type};
  std::memcpy(&bytes_[size_], &header, sizeof(header));
  std::memcpy(&bytes_[size_ + CMSG_LEN(0)], &value, sizeof(value));
  size_ += CMSG_SPACE(sizeof(value));
}

void ControlMessages::Encode(SocketFamily family, const Route& route, uint16_t segment_size) {
  size_ = 0;
  const bool ipv4 = route.from.is_ipv4();
  if (route.from_is_usual && route.interface == 0) {
    // The kernel chooses this source by itself.
  } else if (ipv4 && family == SocketFamily::kIpv4) {
    Append(IPPROTO_IP, IP_PKTINFO,
           in_pktinfo{.ipi_ifindex = static_cast<int>(route.interface),
                      .ipi_spec_dst = ToInAddr(route.from),
                      .ipi_addr = {}});
  } else {
    Append(IPPROTO_IPV6, IPV6_PKTINFO,
           in6_pktinfo{.ipi6_addr = ToIn6Addr(route.from), .ipi6_ifindex = route.interface});
  }
  if (route.traffic_class != 0) {
    Append(ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS, int{route.traffic_class});
  }
  if (route.hop_limit != 0) {
    Append(ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TTL : IPV6_HOPLIMIT, int{route.hop_limit});
  }
  if (segment_size != 0) Append(IPPROTO_UDP, UDP_SEGMENT, segment_size);
}

Arrival DecodeArrival(const msghdr& message) {
  Arrival arrival;
  for (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(header))) {
    if (header->cmsg_level == IPPROTO_IP) {
      DecodeIpv4(*header, arrival);
    } else if (header->cmsg_level == IPPROTO_IPV6) {
      DecodeIpv6(*header, arrival);
    } else if (header->cmsg_level == IPPROTO_UDP && header->cmsg_type == UDP_GRO) {
      arrival.segment_size = static_cast<uint16_t>(Load<int>(*header));
    }
  }
  return arrival;
}

}  // namespace verbena::fabric
