#include "transport/cm/cm_directory.h"

#include <gtest/gtest.h>

#include "tests/support/cm_pair.h"

namespace verbena::transport {
namespace {

const CmOptions kOptions{};
const auto kPeer = IpAddress::FromIpv4(Ipv4Address(0x0A000002));

// A connection that a peer has requested.
CmConnection Asked(uint32_t local_id, uint32_t remote_id, uint32_t qp) {
  CmOutbox outbox;
  CmStep step{Time(), outbox};
  CmConnection connection(kOptions, kPeer);
  wire::CmReq req = CmPair::Req(qp);
  req.local_comm_id = wire::CommId(remote_id);
  req.local_ca_guid = wire::CaGuid(7);
  connection.OnRequest(wire::CommId(local_id), req, {}, step);
  return connection;
}

TEST(CmDirectoryTest, FindsAConnectionByAllItsKeys) {
  CmDirectory directory(8);
  CmConnection connection = Asked(1, 100, 0x11);
  directory.Update(connection);
  EXPECT_EQ(directory.FindRequest(kPeer, wire::CaGuid(7), wire::CommId(100)), wire::CommId(1));
  EXPECT_EQ(directory.FindRemoteQp(kPeer, wire::CaGuid(7), QpNumber(0x11)), wire::CommId(1));
  EXPECT_EQ(directory.FindLocalQp(QpNumber(0x22)), std::nullopt);

  CmOutbox outbox;
  CmStep step{Time(), outbox};
  ASSERT_TRUE(connection.Accept(CmPair::Rep(0x22), step));
  EXPECT_FALSE(directory.Has(connection));
  directory.Update(connection);
  EXPECT_TRUE(directory.Has(connection));
  EXPECT_EQ(directory.FindLocalQp(QpNumber(0x22)), wire::CommId(1));
  EXPECT_EQ(directory.size(), 3u);
  directory.Remove(connection);
  EXPECT_EQ(directory.size(), 0u);
}

TEST(CmDirectoryTest, DistinguishesAddressesGuidsAndNumbers) {
  CmDirectory directory(8);
  directory.Update(Asked(1, 100, 0x11));
  const auto other = IpAddress::FromIpv4(Ipv4Address(0x0A000003));
  EXPECT_EQ(directory.FindRequest(other, wire::CaGuid(7), wire::CommId(100)), std::nullopt);
  EXPECT_EQ(directory.FindRequest(kPeer, wire::CaGuid(8), wire::CommId(100)), std::nullopt);
  EXPECT_EQ(directory.FindRequest(kPeer, wire::CaGuid(7), wire::CommId(101)), std::nullopt);
}

TEST(CmDirectoryTest, AnActiveConnectionIsNotFoundByThePeersId) {
  CmOutbox outbox;
  CmStep step{Time(), outbox};
  CmConnection connection(kOptions, kPeer);
  connection.Connect(wire::CommId(1), CmPair::Req(0x11), step);
  CmDirectory directory(8);
  directory.Update(connection);
  EXPECT_EQ(directory.size(), 1u);
  EXPECT_EQ(directory.FindLocalQp(QpNumber(0x11)), wire::CommId(1));
}

}  // namespace
}  // namespace verbena::transport
