#include <infiniband/verbs.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

using testing::VerbsEnd;

ibv_gid Group() {
  ibv_gid group{};
  group.raw[10] = group.raw[11] = 0xFF;
  group.raw[12] = 239;
  group.raw[15] = 7;
  return group;
}

TEST(MulticastTest, OnlyDatagramQueuePairsJoin) {
  VerbsEnd end;
  const ibv_gid group = Group();
  ibv_qp* const connected = end.MakeQp();
  EXPECT_EQ(ibv_attach_mcast(connected, &group, 0), EINVAL);
  EXPECT_EQ(ibv_detach_mcast(connected, &group, 0), EINVAL);
}

TEST(MulticastTest, AnAttachedQueuePairCannotBeDestroyed) {
  VerbsEnd end;
  const ibv_gid group = Group();
  ibv_qp* const qp = end.MakeQp({.type = IBV_QPT_UD});
  ASSERT_EQ(ibv_attach_mcast(qp, &group, 0), 0);
  EXPECT_EQ(ibv_destroy_qp(qp), EBUSY);
  EXPECT_EQ(ibv_detach_mcast(qp, &group, 0), 0);
  EXPECT_EQ(ibv_detach_mcast(qp, &group, 0), EINVAL);
}

TEST(MulticastTest, OnlyAGroupCanBeJoined) {
  VerbsEnd end;
  const ibv_gid unicast = end.Loopback().dgid;
  ibv_qp* const qp = end.MakeQp({.type = IBV_QPT_UD});
  EXPECT_EQ(ibv_attach_mcast(qp, &unicast, 0), EINVAL);
}

}  // namespace
}  // namespace verbena::ibverbs
