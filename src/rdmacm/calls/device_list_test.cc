#include <rdma/rdma_cma.h>

#include <string>

#include <gtest/gtest.h>

#include "tests/support/cm_end.h"

namespace verbena::rdmacm {
namespace {

TEST(DeviceListTest, AllIdsShareOneDevice) {
  int count = 0;
  ibv_context** const list = rdma_get_devices(&count);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(list[1], nullptr);
  EXPECT_STREQ(ibv_get_device_name(list[0]->device), "verbena0");
  testing::CmEnd end;
  rdma_cm_id* const id = end.MakeId();
  sockaddr_storage address = testing::LoopbackAddress();
  ASSERT_EQ(rdma_bind_addr(id, testing::AsSockaddr(address)), 0);
  EXPECT_EQ(id->verbs, list[0]);
  rdma_free_devices(list);
  ibv_context** const again = rdma_get_devices(nullptr);
  EXPECT_NE(again, nullptr);
  rdma_free_devices(again);
}

TEST(DeviceListTest, EveryEventHasItsName) {
  for (int event = RDMA_CM_EVENT_ADDR_RESOLVED; event <= RDMA_CM_EVENT_TIMEWAIT_EXIT; ++event) {
    const std::string name = rdma_event_str(static_cast<rdma_cm_event_type>(event));
    EXPECT_EQ(name.find("RDMA_CM_EVENT_"), 0U) << event;
  }
  EXPECT_STREQ(rdma_event_str(RDMA_CM_EVENT_UNREACHABLE), "RDMA_CM_EVENT_UNREACHABLE");
  volatile int unknown = 99;
  EXPECT_STREQ(rdma_event_str(static_cast<rdma_cm_event_type>(unknown)), "UNKNOWN EVENT");
}

}  // namespace
}  // namespace verbena::rdmacm
