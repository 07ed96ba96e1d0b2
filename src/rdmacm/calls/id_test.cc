#include <fcntl.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::rdmacm {
namespace {

using testing::CmEnd;
using testing::ConnectedPair;

TEST(IdCallsTest, ThePortSpaceDeterminesTheTypeOfTheQueuePair) {
  CmEnd end;
  int context = 0;
  EXPECT_EQ(end.MakeId(RDMA_PS_TCP)->qp_type, IBV_QPT_RC);
  EXPECT_EQ(end.MakeId(RDMA_PS_IB)->qp_type, IBV_QPT_RC);
  EXPECT_EQ(end.MakeId(RDMA_PS_UDP)->qp_type, IBV_QPT_UD);
  EXPECT_EQ(end.MakeId(RDMA_PS_IPOIB)->qp_type, IBV_QPT_UD);
  rdma_cm_id* const id = end.MakeId(RDMA_PS_TCP, &context);
  EXPECT_EQ(id->context, &context);
  EXPECT_EQ(id->channel, end.channel);
  EXPECT_EQ(id->verbs, nullptr);
}

TEST(IdCallsTest, OtherPortSpacesAreRefused) {
  CmEnd end;
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(rdma_create_id(end.channel, &id, nullptr, static_cast<rdma_port_space>(1)), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_destroy_id(nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(IdCallsTest, DestroyingAnIdDropsItsEvents) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  sockaddr_storage address = testing::LoopbackAddress(AF_INET, 7174);
  ASSERT_EQ(rdma_resolve_addr(id, nullptr, testing::AsSockaddr(address), 1000), 0);
  EXPECT_TRUE(end.HasEvent());
  end.End(id);
  EXPECT_FALSE(end.HasEvent());
}

TEST(IdCallsTest, EventsMoveToTheNewChannel) {
  CmEnd other, end;  // so that the id is destroyed before its new channel
  rdma_cm_id* const id = end.MakeId();
  sockaddr_storage address = testing::LoopbackAddress(AF_INET, 7174);
  ASSERT_EQ(rdma_resolve_addr(id, nullptr, testing::AsSockaddr(address), 1000), 0);
  ASSERT_EQ(rdma_migrate_id(id, other.channel), 0);
  EXPECT_EQ(id->channel, other.channel);
  EXPECT_FALSE(end.HasEvent());
  EXPECT_EQ(other.Next(RDMA_CM_EVENT_ADDR_RESOLVED)->id, id);
  EXPECT_FALSE(other.HasEvent());
}

TEST(IdCallsTest, AConnectionMovesToTheNewChannel) {
  ConnectedPair pair;
  CmEnd other;
  ASSERT_EQ(rdma_migrate_id(pair.passive, other.channel), 0);
  ASSERT_EQ(rdma_disconnect(pair.active), 0);
  EXPECT_EQ(other.Next(RDMA_CM_EVENT_DISCONNECTED)->id, pair.passive);
  pair.server.End(pair.passive);
}

TEST(IdCallsTest, AnIdCanBecomeSynchronousAndBack) {
  CmEnd end;
  rdma_cm_id* id = nullptr;
  ASSERT_EQ(rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP), 0);
  ASSERT_NE(id->channel, nullptr);
  EXPECT_EQ(rdma_migrate_id(id, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rdma_migrate_id(id, end.channel), 0);
  EXPECT_EQ(id->channel, end.channel);
  EXPECT_EQ(rdma_migrate_id(id, nullptr), 0);
  EXPECT_NE(id->channel, end.channel);
  EXPECT_EQ(rdma_destroy_id(id), 0);
}

TEST(IdCallsThreads, DestroyingAnIdWaitsForTheAcknowledgement) {
  CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  sockaddr_storage address = testing::LoopbackAddress(AF_INET, 7174);
  ASSERT_EQ(rdma_resolve_addr(id, nullptr, testing::AsSockaddr(address), 1000), 0);
  auto event = end.Next(RDMA_CM_EVENT_ADDR_RESOLVED);
  std::atomic<bool> is_destroyed = false;
  std::thread destroyer([&] {
    end.End(id);
    is_destroyed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(is_destroyed);
  event.reset();
  destroyer.join();
  EXPECT_TRUE(is_destroyed);
}

}  // namespace
}  // namespace verbena::rdmacm
