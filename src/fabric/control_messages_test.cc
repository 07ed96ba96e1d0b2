#include "fabric/control_messages.h"

#include <netinet/udp.h>

#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

constexpr IpAddress kIpv4 = IpAddress::FromIpv4(127, 0, 0, 1);
constexpr IpAddress kIpv6 = IpAddress::Ipv6Loopback();

msghdr MessageWith(ControlMessages& control) {
  msghdr message{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  return message;
}

// Level and type of each header to the size of its value, as the system's own macros find them.
std::map<std::pair<int, int>, size_t> HeadersIn(ControlMessages& control) {
  msghdr message = MessageWith(control);
  std::map<std::pair<int, int>, size_t> found;
  for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
    found[{h->cmsg_level, h->cmsg_type}] = h->cmsg_len - CMSG_LEN(0);
  }
  return found;
}

using Headers = std::map<std::pair<int, int>, size_t>;

TEST(ControlMessages, EncodesOnlyTheSourceByDefault) {
  ControlMessages control;
  control.Encode(SocketFamily::kIpv4, {.from = kIpv4, .to = {}}, 0);
  EXPECT_EQ(HeadersIn(control), (Headers{{{IPPROTO_IP, IP_PKTINFO}, sizeof(in_pktinfo)}}));
  const Headers ipv6{{{IPPROTO_IPV6, IPV6_PKTINFO}, sizeof(in6_pktinfo)}};
  for (const IpAddress& from : {kIpv4, kIpv6}) {
    control.Encode(SocketFamily::kDualStack, {.from = from, .to = {}}, 0);
    EXPECT_EQ(HeadersIn(control), ipv6);
  }
}

TEST(ControlMessages, TheDefaultSourceIsEncodedOnlyForLinkLocalAddresses) {
  ControlMessages control;
  control.Encode(SocketFamily::kDualStack, {.from = kIpv4, .to = {}, .from_is_usual = true}, 0);
  EXPECT_EQ(HeadersIn(control), Headers{});
  EXPECT_EQ(control.size(), 0u);
  control.Encode(SocketFamily::kDualStack,
                 {.from = kIpv6, .to = {}, .interface = 3, .from_is_usual = true}, 0);
  EXPECT_EQ(HeadersIn(control), (Headers{{{IPPROTO_IPV6, IPV6_PKTINFO}, sizeof(in6_pktinfo)}}));
}

TEST(ControlMessages, TrafficClassAndSegments) {
  ControlMessages control;
  control.Encode(SocketFamily::kDualStack, {.from = kIpv4, .to = {}, .traffic_class = 2}, 1024);
  EXPECT_EQ(HeadersIn(control), (Headers{{{IPPROTO_IPV6, IPV6_PKTINFO}, sizeof(in6_pktinfo)},
                                         {{IPPROTO_IP, IP_TOS}, sizeof(int)},
                                         {{IPPROTO_UDP, UDP_SEGMENT}, sizeof(uint16_t)}}));
  control.Encode(SocketFamily::kDualStack, {.from = kIpv6, .to = {}, .traffic_class = 2}, 0);
  EXPECT_EQ(HeadersIn(control), (Headers{{{IPPROTO_IPV6, IPV6_PKTINFO}, sizeof(in6_pktinfo)},
                                         {{IPPROTO_IPV6, IPV6_TCLASS}, sizeof(int)}}));
}

TEST(ControlMessages, AllAtOnceFit) {
  ControlMessages control;
  const Route route{.from = kIpv6, .to = {}, .traffic_class = 2, .hop_limit = 9};
  control.Encode(SocketFamily::kDualStack, route, 1024);
  EXPECT_EQ(HeadersIn(control), (Headers{{{IPPROTO_IPV6, IPV6_PKTINFO}, sizeof(in6_pktinfo)},
                                         {{IPPROTO_IPV6, IPV6_TCLASS}, sizeof(int)},
                                         {{IPPROTO_IPV6, IPV6_HOPLIMIT}, sizeof(int)},
                                         {{IPPROTO_UDP, UDP_SEGMENT}, sizeof(uint16_t)}}));
  control.Encode(SocketFamily::kIpv4, {.from = kIpv4, .to = {}, .hop_limit = 9}, 0);
  EXPECT_EQ(HeadersIn(control), (Headers{{{IPPROTO_IP, IP_PKTINFO}, sizeof(in_pktinfo)},
                                         {{IPPROTO_IP, IP_TTL}, sizeof(int)}}));
}

// Encode writes a source in the form in which the kernel reports a destination.
TEST(ControlMessages, DecodesWhatWasEncoded) {
  ControlMessages control;
  control.Encode(SocketFamily::kDualStack,
                 {.from = kIpv6, .to = {}, .interface = 3, .traffic_class = 0xB8}, 0);
  const Arrival arrival = DecodeArrival(MessageWith(control));
  EXPECT_EQ(arrival.to, kIpv6);
  EXPECT_EQ(arrival.interface, 3u);
  EXPECT_EQ(arrival.traffic_class, 0xB8);
  EXPECT_EQ(arrival.segment_size, 0);
}

TEST(ControlMessages, AMessageWithoutControlMessagesHasDefaults) {
  ControlMessages control;
  EXPECT_EQ(DecodeArrival(MessageWith(control)).to, IpAddress{});
}

}  // namespace
}  // namespace verbena::fabric
