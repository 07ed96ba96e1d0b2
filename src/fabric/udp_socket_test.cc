#include "fabric/udp_socket.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/udp_peers.h"

namespace verbena::fabric {
namespace {

int OptionOf(const UdpSocket& socket, int level, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  EXPECT_EQ(getsockopt(socket.fd(), level, option, &value, &size), 0);
  return value;
}

TEST(UdpSocket, NeverFragments) {
  const auto dual = UdpSocket::Open({}).value();
  EXPECT_EQ(OptionOf(dual, IPPROTO_IP, IP_MTU_DISCOVER), IP_PMTUDISC_DO);
  if (dual.family() == SocketFamily::kDualStack) {
    EXPECT_EQ(OptionOf(dual, IPPROTO_IPV6, IPV6_MTU_DISCOVER), IPV6_PMTUDISC_DO);
    EXPECT_EQ(OptionOf(dual, IPPROTO_IPV6, IPV6_V6ONLY), 0);
  }
  const auto ipv4 = UdpSocket::Open({.ipv6 = false}).value();
  EXPECT_EQ(ipv4.family(), SocketFamily::kIpv4);
  EXPECT_EQ(OptionOf(ipv4, IPPROTO_IP, IP_MTU_DISCOVER), IP_PMTUDISC_DO);
}

TEST(UdpSocket, OffloadsOnlyWhenAskedFor) {
  const auto plain = UdpSocket::Open({.offloads = false}).value();
  EXPECT_FALSE(plain.segmentation());
  EXPECT_FALSE(plain.coalescing());
  // The features depend on the kernel, but the socket must report what the kernel does.
  const auto offloaded = UdpSocket::Open({}).value();
  int zero = 0;
  EXPECT_EQ(offloaded.segmentation(),
            setsockopt(plain.fd(), IPPROTO_UDP, UDP_SEGMENT, &zero, sizeof(zero)) == 0);
  if (offloaded.coalescing()) {
    EXPECT_EQ(OptionOf(offloaded, IPPROTO_UDP, UDP_GRO), 1);
  }
}

TEST(UdpSocket, GrantedBuffersCauseNoWarning) {
  const auto socket =
      UdpSocket::Open({.send_buffer_bytes = 8 << 10, .receive_buffer_bytes = 8 << 10});
  EXPECT_EQ(OptionOf(*socket, SOL_SOCKET, SO_RCVBUF), 16 << 10);
  EXPECT_TRUE(socket->warnings().empty());
}

TEST(UdpSocket, ClippedBuffersCauseAWarning) {
  constexpr uint32_t kAbsurd = 1 << 30;
  const auto socket =
      UdpSocket::Open({.send_buffer_bytes = 8 << 10, .receive_buffer_bytes = kAbsurd}).value();
  ASSERT_LT(OptionOf(socket, SOL_SOCKET, SO_RCVBUF) / 2, static_cast<int>(kAbsurd))
      << "net.core.rmem_max is larger than anything this test could ask for";
  ASSERT_EQ(socket.warnings().size(), 1u);
  EXPECT_NE(socket.warnings()[0].find("net.core.rmem_max=1073741824"), std::string::npos)
      << socket.warnings()[0];
  EXPECT_NE(socket.warnings()[0].find("receive buffer"), std::string::npos) << socket.warnings()[0];
}

TEST(UdpSocket, BindIsExclusiveAndMayBeRepeated) {
  const uint16_t port = TestEndpoints().ports.first;
  auto first = UdpSocket::Open({}).value();
  auto second = UdpSocket::Open({}).value();
  ASSERT_TRUE(first.Bind(port));
  const auto refused = second.Bind(port);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_error, EADDRINUSE);
  EXPECT_TRUE(second.Bind(static_cast<uint16_t>(port + 1)));
}

}  // namespace
}  // namespace verbena::fabric
