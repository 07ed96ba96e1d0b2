#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

constexpr uint32_t kHeader = 40;

class AhTest : public testing::VerbsPairTest {
 protected:
  void SetUp() override { Connect({.type = IBV_QPT_UD}); }

  // Sends a datagram through `ah` and returns the completion at the receiver.
  static std::optional<ibv_wc> SendOne(testing::VerbsEnd& from, ibv_qp* qp, ibv_ah* ah,
                                       testing::VerbsEnd& to, ibv_qp* peer) {
    EXPECT_EQ(to.Receive(peer, 0, 1'024), 0);
    ibv_sge sge = from.Sge(2'048, 5);
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    // Drivers use the low 24 bits of the number and ignore the others.
    wr.wr.ud = {
        .ah = ah, .remote_qpn = 0xDE000000 | peer->qp_num, .remote_qkey = testing::VerbsEnd::kQKey};
    EXPECT_EQ(from.Post(qp, wr), 0);
    EXPECT_EQ(from.WaitStatus(), IBV_WC_SUCCESS);
    return to.Wait();
  }
};

TEST_F(AhTest, DatagramsReachTheDestination) {
  a.Fill(2'048, "hello");
  const auto wc = SendOne(a, qa, a.MakeAh(), b, qb);
  ASSERT_TRUE(wc.has_value());
  EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(kHeader, 5), "hello");
}

// IBA A17.4.5.1: the service level field holds a code for the header, the same code as on other
// adapters.
TEST_F(AhTest, TheCompletionHasTheKindOfHeader) {
  const auto wc = SendOne(a, qa, a.MakeAh(), b, qb);
  ASSERT_TRUE(wc.has_value());
  EXPECT_NE(wc->wc_flags & IBV_WC_GRH, 0U);
  EXPECT_EQ(wc->sl, 8 | 2) << "IPv4 and UDP";
}

// On InfiniBand the field is a service level, and all traffic has level 0.
TEST(AhLookTest, AnInfinibandDeviceReportsAServiceLevel) {
  setenv("VERBENA_LINK_LAYER", "ib", 1);
  testing::VerbsEnd end;
  unsetenv("VERBENA_LINK_LAYER");
  ibv_qp* const qp = end.MakeQp({.type = IBV_QPT_UD});
  end.Start(qp, 0);
  ASSERT_EQ(end.Receive(qp, 0, 1'024), 0);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  wr.wr.ud = {
      .ah = end.MakeAh(), .remote_qpn = qp->qp_num, .remote_qkey = testing::VerbsEnd::kQKey};
  ASSERT_EQ(testing::VerbsEnd::Post(qp, wr), 0);
  const auto wc = end.Wait();
  ASSERT_TRUE(wc.has_value());
  EXPECT_EQ(wc->opcode, IBV_WC_RECV);
  EXPECT_EQ(wc->sl, 0);
}

// Hardware adapters report the error. (By IBA C10-93.1.1 the datagram would vanish without an
// error, as on Soft-RoCE.)
TEST_F(AhTest, ADatagramThatIsLongerThanTheActiveMtuIsALengthError) {
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(a.context, 1, &port), 0);
  const uint32_t mtu = 128U << port.active_mtu;
  for (const uint32_t length : {mtu, mtu + 1}) {
    ibv_sge sge = a.Sge(0, length);
    ibv_send_wr wr = Request(IBV_WR_SEND, &sge);
    wr.wr.ud = {.ah = a.MakeAh(), .remote_qpn = 1, .remote_qkey = testing::VerbsEnd::kQKey};
    ASSERT_EQ(a.Post(qa, wr), 0);
    EXPECT_EQ(a.WaitStatus(), length > mtu ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS);
  }
}

// IBA 9.9.3, class D; see ud_qp_test.cc.
TEST_F(AhTest, ADatagramLongerThanItsReceiveIsDropped) {
  ASSERT_EQ(b.Receive(qb, 0, kHeader + 8), 0);
  ibv_ah* const ah = a.MakeAh();
  for (const uint32_t length : {9U, 8U}) {
    ibv_sge sge = a.Sge(0, length);
    ibv_send_wr wr = Request(IBV_WR_SEND, &sge);
    wr.wr.ud = {.ah = ah, .remote_qpn = qb->qp_num, .remote_qkey = testing::VerbsEnd::kQKey};
    ASSERT_EQ(a.Post(qa, wr), 0);
    ASSERT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  }
  const auto wc = b.Wait();
  ASSERT_TRUE(wc.has_value());
  EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc->byte_len, kHeader + 8);
}

TEST_F(AhTest, AnAddressHandleFromACompletionReachesTheSender) {
  auto wc = SendOne(a, qa, a.MakeAh(), b, qb);
  ASSERT_TRUE(wc.has_value());
  ibv_grh grh{};
  std::memcpy(&grh, b.bytes.data(), sizeof grh);
  ibv_ah* const back = ibv_create_ah_from_wc(b.pd, &*wc, &grh, 1);
  ASSERT_NE(back, nullptr);
  b.Fill(2'048, "again");
  ASSERT_TRUE(SendOne(b, qb, back, a, qa).has_value());
  EXPECT_EQ(a.Text(kHeader, 5), "again");
  EXPECT_EQ(ibv_destroy_ah(back), 0);
}

TEST_F(AhTest, TheAddressOfASenderIsFound) {
  auto wc = SendOne(a, qa, a.MakeAh(), b, qb);
  ASSERT_TRUE(wc.has_value());
  ibv_grh grh{};
  std::memcpy(&grh, b.bytes.data(), sizeof grh);
  ibv_ah_attr path{};
  ASSERT_EQ(ibv_init_ah_from_wc(b.context, 1, &*wc, &grh, &path), 0);
  const ibv_global_route loopback = a.Loopback();
  EXPECT_EQ(path.is_global, 1);
  EXPECT_EQ(path.port_num, 1);
  EXPECT_EQ(path.grh.sgid_index, loopback.sgid_index);
  EXPECT_EQ(std::memcmp(&path.grh.dgid, &loopback.dgid, sizeof loopback.dgid), 0);
  EXPECT_EQ(ibv_init_ah_from_wc(b.context, 1, &*wc, nullptr, &path), EINVAL);
}

TEST_F(AhTest, InvalidAddressesAreRefused) {
  ibv_ah_attr path = a.LoopbackWay();
  path.port_num = 2;
  EXPECT_EQ(ibv_create_ah(a.pd, &path), nullptr);
  EXPECT_EQ(errno, EINVAL);
  path = a.LoopbackWay();
  path.is_global = 0;
  EXPECT_EQ(ibv_create_ah(a.pd, &path), nullptr) << "RoCE has no other address";
  path = a.LoopbackWay();
  path.grh.sgid_index = 200;
  EXPECT_EQ(ibv_create_ah(a.pd, &path), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(AhTest, EthernetAddressesAreNotSupported) {
  ibv_ah_attr path = a.LoopbackWay();
  std::array<uint8_t, 6> mac{};
  uint16_t vlan = 0;
  EXPECT_EQ(ibv_resolve_eth_l2_from_gid(a.context, &path, mac.data(), &vlan), EOPNOTSUPP);
}

}  // namespace
}  // namespace verbena::ibverbs
