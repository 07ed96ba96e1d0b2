#include <netdb.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <memory>

#include <gtest/gtest.h>

#include "rdmacm/objects/address.h"

namespace verbena::rdmacm {
namespace {

struct FreeInfo {
  void operator()(rdma_addrinfo* info) const { rdma_freeaddrinfo(info); }
};
using Info = std::unique_ptr<rdma_addrinfo, FreeInfo>;

Info Ask(const char* node, const char* service, const rdma_addrinfo* hints) {
  rdma_addrinfo* info = nullptr;
  EXPECT_EQ(rdma_getaddrinfo(node, service, hints, &info), 0);
  return Info(info);
}

TEST(AddressInfoTest, ADestinationHasTheSourceAddressOfItsRoute) {
  const Info info = Ask("127.0.0.1", "7174", nullptr);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->ai_family, AF_INET);
  EXPECT_EQ(info->ai_port_space, RDMA_PS_TCP);
  EXPECT_EQ(info->ai_qp_type, IBV_QPT_RC);
  ASSERT_EQ(info->ai_dst_len, sizeof(sockaddr_in));
  EXPECT_EQ(FromSockaddr(*info->ai_dst_addr).port, 7174);
  ASSERT_EQ(info->ai_src_len, sizeof(sockaddr_in));
  EXPECT_EQ(ToString(FromSockaddr(*info->ai_src_addr).ip), "127.0.0.1");
  EXPECT_EQ(info->ai_next, nullptr);
}

TEST(AddressInfoTest, RaiNorouteLeavesTheSourceOut) {
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_NOROUTE;
  const Info info = Ask("127.0.0.1", "7174", &hints);
  EXPECT_EQ(info->ai_src_len, 0U);
  EXPECT_EQ(info->ai_src_addr, nullptr);
}

TEST(AddressInfoTest, APassiveEndHasOnlyASource) {
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_PASSIVE;
  hints.ai_port_space = RDMA_PS_UDP;
  const Info info = Ask(nullptr, "7174", &hints);
  EXPECT_EQ(info->ai_flags, RAI_PASSIVE);
  EXPECT_EQ(info->ai_port_space, RDMA_PS_UDP);
  EXPECT_EQ(info->ai_qp_type, IBV_QPT_UD);
  EXPECT_TRUE(IsWildcard(FromSockaddr(*info->ai_src_addr).ip));
  EXPECT_EQ(info->ai_dst_addr, nullptr);
}

TEST(AddressInfoTest, TheTypeOfTheHintsIsKept) {
  rdma_addrinfo hints{};
  hints.ai_port_space = RDMA_PS_IB;
  hints.ai_qp_type = IBV_QPT_XRC_SEND;
  hints.ai_family = AF_INET6;
  hints.ai_flags = RAI_NUMERICHOST | RAI_FAMILY;
  const Info info = Ask("::1", "7174", &hints);
  EXPECT_EQ(info->ai_family, AF_INET6);
  EXPECT_EQ(info->ai_port_space, RDMA_PS_IB);
  EXPECT_EQ(info->ai_qp_type, IBV_QPT_XRC_SEND);
}

TEST(AddressInfoTest, HostAndServiceNamesAreResolved) {
  const Info info = Ask("localhost", "http", nullptr);
  ASSERT_NE(info, nullptr);
  EXPECT_TRUE(FromSockaddr(*info->ai_dst_addr).ip.is_loopback());
  EXPECT_EQ(FromSockaddr(*info->ai_dst_addr).port, 80);
}

TEST(AddressInfoTest, WithoutANameTheHintsAreReturned) {
  const Info first = Ask("127.0.0.1", "7174", nullptr);
  rdma_addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_port_space = RDMA_PS_TCP;
  hints.ai_dst_addr = first->ai_dst_addr;
  hints.ai_dst_len = first->ai_dst_len;
  const Info info = Ask(nullptr, nullptr, &hints);
  EXPECT_NE(info->ai_dst_addr, first->ai_dst_addr);
  EXPECT_EQ(FromSockaddr(*info->ai_dst_addr).port, 7174);
}

TEST(AddressInfoTest, FailuresAreThoseOfGetaddrinfo) {
  rdma_addrinfo* info = nullptr;
  EXPECT_EQ(rdma_getaddrinfo(nullptr, nullptr, nullptr, &info), -1);
  EXPECT_EQ(errno, EINVAL);
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_NUMERICHOST;
  EXPECT_EQ(rdma_getaddrinfo("localhost", "7174", &hints, &info), EAI_NONAME);
  hints.ai_flags = 0;
  hints.ai_family = 27;  // AF_IB
  EXPECT_EQ(rdma_getaddrinfo("localhost", "7174", &hints, &info), EAI_FAMILY);
  EXPECT_EQ(info, nullptr);
}

}  // namespace
}  // namespace verbena::rdmacm
