#include "ibverbs/query/device.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

TEST(DeviceTest, TheListHasOneDeviceAndANullTerminator) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(list[1], nullptr);
  EXPECT_STREQ(ibv_get_device_name(list[0]), "verbena0");
  EXPECT_STREQ(list[0]->dev_name, "uverbs0");
  EXPECT_EQ(list[0]->node_type, IBV_NODE_CA);
  EXPECT_EQ(list[0]->transport_type, IBV_TRANSPORT_IB);
  EXPECT_EQ(ibv_get_device_index(list[0]), 0);
  ibv_free_device_list(list);
}

TEST(DeviceTest, TheCountIsOptionalAndTheDeviceAlwaysTheSame) {
  ibv_device** const first = ibv_get_device_list(nullptr);
  ibv_device** const second = ibv_get_device_list(nullptr);
  EXPECT_EQ(first[0], second[0]);
  EXPECT_EQ(first[0], &TheDevice());
  ibv_free_device_list(first);
  ibv_free_device_list(second);
  ibv_free_device_list(nullptr);
}

TEST(DeviceTest, ThePaddingAfterTheStructureIsZero) {
  static_assert(sizeof(IbvDevice) >= 712, "which providers read");
  EXPECT_TRUE(std::ranges::all_of(TheDevice().zeros, [](std::byte b) { return b == std::byte{}; }));
}

TEST(DeviceTest, TheGuidIsLocallyAdministeredAndNotZero) {
  const uint64_t guid = __builtin_bswap64(ibv_get_device_guid(&TheDevice()));
  EXPECT_EQ(guid >> 56 & 3, 2U);
  EXPECT_EQ(ibv_get_device_guid(&TheDevice()), NodeGuid(TransportType::kRoce));
}

TEST(DeviceTest, ThereIsOneDevicePerTransport) {
  constexpr std::array kBoth = {TransportType::kIwarpSctp, TransportType::kRoce};
  const std::vector<IbvDevice> devices = MakeDevices(kBoth);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_STREQ(devices[0].name, "verbena_iw0");
  EXPECT_STREQ(devices[0].dev_name, "uverbs0");
  EXPECT_EQ(devices[0].node_type, IBV_NODE_RNIC);
  EXPECT_STREQ(devices[1].name, "verbena0");
  EXPECT_STREQ(devices[1].dev_name, "uverbs1");
  EXPECT_STREQ(devices[1].dev_path, "/sys/class/infiniband_verbs/uverbs1");
  for (size_t i = 0; i < kBoth.size(); ++i) EXPECT_EQ(TransportOf(devices[i]), kBoth[i]);
  EXPECT_NE(NodeGuid(kBoth[0]), NodeGuid(kBoth[1]));
}

}  // namespace
}  // namespace verbena::ibverbs
