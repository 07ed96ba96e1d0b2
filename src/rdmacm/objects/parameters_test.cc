#include "rdmacm/objects/parameters.h"

#include <array>

#include <gtest/gtest.h>

namespace verbena::rdmacm {
namespace {

struct World {
  explicit World(rdma_port_space space = RDMA_PS_TCP, ibv_qp_type type = IBV_QPT_RC)
      : id(&channel, nullptr, space, type) {
    EXPECT_TRUE(AttachDevice(id));
  }

  rdma_event_channel channel{};
  Id id;
};

TEST(ParametersTest, PrivateDataMustFit) {
  const std::array<std::byte, 200> bytes{std::byte{1}, std::byte{2}};
  const auto data = PrivateData(BytesOf(bytes.data(), 56), kRequestDataMax);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->size, 56);
  EXPECT_EQ(data->bytes[1], std::byte{2});
  const auto refused = PrivateData(BytesOf(bytes.data(), 57), kRequestDataMax);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text,
            "this message has room for 56 bytes of private data, and not for 57");
  EXPECT_TRUE(BytesOf(nullptr, 9).empty());
}

TEST(ParametersTest, WithoutParametersAQueuePairIsNeeded) {
  const World connected;
  EXPECT_FALSE(CheckParameters(connected.id, nullptr));
  const World datagrams(RDMA_PS_UDP, IBV_QPT_UD);
  EXPECT_TRUE(CheckParameters(datagrams.id, nullptr));
}

TEST(ParametersTest, ReadsAreLimitedByTheDevice) {
  const World world;
  rdma_conn_param given{};
  given.responder_resources = world.id.device->responder_resources_max();
  given.initiator_depth = world.id.device->initiator_depth_max();
  EXPECT_TRUE(CheckParameters(world.id, &given));
  given.responder_resources = RDMA_MAX_RESP_RES;
  given.initiator_depth = RDMA_MAX_INIT_DEPTH;
  EXPECT_TRUE(CheckParameters(world.id, &given));
  ++(given.responder_resources = world.id.device->responder_resources_max());
  EXPECT_FALSE(CheckParameters(world.id, &given));
  EXPECT_EQ(Limit(RDMA_MAX_RESP_RES, 7), 7);
  EXPECT_EQ(Limit(3, 7), 3);
}

TEST(ParametersTest, RetriesHaveThreeBits) {
  const World world;
  rdma_conn_param given{};
  given.retry_count = 200;
  given.rnr_retry_count = 3;
  given.qp_num = 77;
  given.srq = 1;
  const ConnectionParameters parameters = ParametersOf(world.id, &given);
  EXPECT_EQ(parameters.retry_count, 7);
  EXPECT_EQ(parameters.rnr_retry_count, 3);
  EXPECT_EQ(parameters.qp, QpNumber{77});
  EXPECT_TRUE(parameters.has_srq);
  EXPECT_EQ(parameters.service, CmService::kRc);
}

TEST(ParametersTest, TheServiceFollowsFromTheQueuePair) {
  EXPECT_EQ(ParametersOf(World(RDMA_PS_UDP, IBV_QPT_UD).id, nullptr).service, CmService::kUd);
  EXPECT_EQ(ParametersOf(World(RDMA_PS_IB, IBV_QPT_UC).id, nullptr).service, CmService::kUc);
  EXPECT_EQ(ParametersOf(World(RDMA_PS_IB, IBV_QPT_XRC_SEND).id, nullptr).service, CmService::kXrc);
}

}  // namespace
}  // namespace verbena::rdmacm
