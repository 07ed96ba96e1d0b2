#include "verbena/device.h"

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

TEST(DeviceTest, ListsOneDeviceWithTheLimitsOfItsOptions) {
  Options limits = VerbsTestOptions();
  limits.qps_max = 1;
  const std::vector<Device> devices = ListDevices(limits);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].name(), "verbena0");
  EXPECT_EQ(devices[0].limits().qps_max, 1U);
  EXPECT_FALSE(Good(devices[0].Gids()).empty());

  const Context context = Good(devices[0].Open());
  const ProtectionDomain domain = Good(ProtectionDomain::Allocate(context));
  const CompletionQueue cq = Good(CompletionQueue::Create(context, 16));
  const QpSpec spec{.send_cq = &cq, .receive_cq = &cq};
  const QueuePair first = Good(QueuePair::Create(domain, spec));
  const auto second = QueuePair::Create(domain, spec);
  ASSERT_EQ(CodeOf(second), ErrorCode::kLimit);
  EXPECT_NE(second.error().text.find("qps_max"), std::string::npos) << second.error().text;
}

TEST(DeviceTest, OneThatSpeaksIwarpHasAnotherName) {
  Options limits = VerbsTestOptions();
  limits.transport = TransportType::kIwarp;
  const std::vector<Device> devices = ListDevices(limits);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].name(), "verbena_iw0");
  EXPECT_EQ(Good(devices[0].Open()).options().transport, TransportType::kIwarp);
}

}  // namespace
}  // namespace verbena
