#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::rdmacm {
namespace {

using testing::AsSockaddr;
using testing::CmEnd;
using testing::LoopbackAddress;

sockaddr_storage Ipv4(uint32_t address, uint16_t port) {
  sockaddr_storage storage = LoopbackAddress(AF_INET, port);
  reinterpret_cast<sockaddr_in&>(storage).sin_addr.s_addr = htonl(address);
  return storage;
}

TEST(AddressCallsTest, ABoundIdShowsItsAddressPortAndDevice) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  sockaddr_storage address = LoopbackAddress();
  ASSERT_EQ(rdma_bind_addr(id, AsSockaddr(address)), 0);
  EXPECT_NE(rdma_get_src_port(id), 0);
  EXPECT_EQ(rdma_get_local_addr(id)->sa_family, AF_INET);
  EXPECT_NE(id->verbs, nullptr);
  EXPECT_NE(id->pd, nullptr);
  EXPECT_EQ(id->route.addr.addr.ibaddr.sgid.raw[12], 127);
  EXPECT_EQ(rdma_bind_addr(id, AsSockaddr(address)), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(AddressCallsTest, AWildcardLeavesTheDeviceOpen) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  sockaddr_storage address = Ipv4(INADDR_ANY, 0);
  ASSERT_EQ(rdma_bind_addr(id, AsSockaddr(address)), 0);
  EXPECT_EQ(id->verbs, nullptr);
  EXPECT_NE(rdma_get_src_port(id), 0);
  EXPECT_EQ(rdma_listen(id, 0), 0);
  EXPECT_EQ(rdma_listen(id, 0), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(AddressCallsTest, AListenerWithoutAddressGetsAPort) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  ASSERT_EQ(rdma_listen(id, 1), 0);
  EXPECT_NE(rdma_get_src_port(id), 0);
}

TEST(AddressCallsTest, APortCanBeBoundOnce) {
  CmEnd end;
  sockaddr_storage address = end.Listen()->route.addr.src_storage;
  EXPECT_EQ(rdma_bind_addr(end.MakeId(), AsSockaddr(address)), -1);
  EXPECT_EQ(errno, EADDRINUSE);
}

TEST(AddressCallsTest, AnAddressOfAnotherMachineCannotBeBound) {
  CmEnd end;
  sockaddr_storage address = Ipv4(0xC0000201, 0);  // 192.0.2.1, reserved for documentation
  EXPECT_EQ(rdma_bind_addr(end.MakeId(), AsSockaddr(address)), -1);
  EXPECT_EQ(errno, EADDRNOTAVAIL);
}

TEST(AddressCallsTest, OtherFamiliesAreRefused) {
  CmEnd end;
  sockaddr_storage address{};
  address.ss_family = AF_UNIX;
  sockaddr_storage good = LoopbackAddress();
  EXPECT_EQ(rdma_bind_addr(end.MakeId(), AsSockaddr(address)), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_resolve_addr(end.MakeId(), nullptr, AsSockaddr(address), 1), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_resolve_addr(end.MakeId(), AsSockaddr(address), AsSockaddr(good), 1), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(AddressCallsTest, AResolvedIdShowsBothEnds) {
  for (const int family : {AF_INET, AF_INET6}) {
    CmEnd end;
    rdma_cm_id* const id = end.ResolveTo(LoopbackAddress(family, 7174));
    EXPECT_EQ(rdma_get_local_addr(id)->sa_family, family);
    EXPECT_EQ(rdma_get_dst_port(id), htons(7174));
    EXPECT_NE(rdma_get_src_port(id), 0);
    EXPECT_NE(id->verbs, nullptr);
    ASSERT_EQ(id->route.num_paths, 1);
    const ibv_sa_path_rec& path = *id->route.path_rec;
    EXPECT_EQ(std::memcmp(&path.dgid, &id->route.addr.addr.ibaddr.dgid, sizeof path.dgid), 0);
    EXPECT_EQ(path.sgid.raw[15], 1);
    EXPECT_EQ(path.mtu, IBV_MTU_4096);  // of the loopback interface
    EXPECT_EQ(path.pkey, htons(0xFFFF));
  }
}

TEST(AddressCallsTest, TheWildcardIsThisMachine) {
  CmEnd end;
  rdma_cm_id* const id = end.ResolveTo(Ipv4(INADDR_ANY, 7174));
  EXPECT_EQ(id->route.addr.dst_sin.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
}

TEST(AddressCallsTest, ASourceAddressIsBound) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  sockaddr_storage source = LoopbackAddress();
  sockaddr_storage destination = LoopbackAddress(AF_INET, 7174);
  ASSERT_EQ(rdma_resolve_addr(id, AsSockaddr(source), AsSockaddr(destination), 1), 0);
  end.Next(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(id->route.addr.src_sin.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
}

TEST(AddressCallsTest, TheCallsMustBeMadeInOrderAndOnce) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  EXPECT_EQ(rdma_resolve_route(id, 1), -1);
  EXPECT_EQ(errno, EINVAL);
  rdma_cm_id* const resolved = end.ResolveTo(LoopbackAddress(AF_INET, 7174));
  sockaddr_storage address = LoopbackAddress(AF_INET, 7174);
  EXPECT_EQ(rdma_resolve_addr(resolved, nullptr, AsSockaddr(address), 1), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_resolve_route(resolved, 1), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_listen(resolved, 1), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(AddressCallsTest, TheFamiliesOfBothEndsMustBeTheSame) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  sockaddr_storage source = LoopbackAddress(AF_INET6);
  sockaddr_storage destination = LoopbackAddress(AF_INET, 7174);
  EXPECT_EQ(rdma_resolve_addr(id, AsSockaddr(source), AsSockaddr(destination), 1), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbena::rdmacm
