#include "verbena/device.h"

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

TEST(DeviceTest, ListsADevicePerTransportWithTheLimitsOfItsOptions) {
  Options limits = VerbsTestOptions();
  limits.qps_max = 1;
  const std::vector<Device> devices = ListDevices(limits);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].name(), "verbena0");
  EXPECT_EQ(devices[1].name(), "verbena_iw0");
  EXPECT_EQ(devices[0].limits().qps_max, 1U);
  EXPECT_EQ(devices[1].limits().qps_max, 1U);
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

TEST(DeviceTest, TheFirstSpeaksTheTransportOfTheOptions) {
  Options limits = VerbsTestOptions();
  limits.transport = TransportType::kIwarp;
  const std::vector<Device> devices = ListDevices(limits);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].name(), "verbena_iw0");
  EXPECT_EQ(devices[1].name(), "verbena0");
}

TEST(DeviceTest, BothCanBeOpenInOneProcess) {
  const std::vector<Device> devices = ListDevices(VerbsTestOptions());
  const Context roce = Good(devices[0].Open());
  const Context iwarp = Good(devices[1].Open());
  EXPECT_EQ(roce.options().transport, TransportType::kRoce);
  EXPECT_EQ(iwarp.options().transport, TransportType::kIwarp);
  for (const Context* const context : {&roce, &iwarp}) {
    const ProtectionDomain domain = Good(ProtectionDomain::Allocate(*context));
    const CompletionQueue cq = Good(CompletionQueue::Create(*context, 16));
    const QueuePair qp = Good(QueuePair::Create(domain, {.send_cq = &cq, .receive_cq = &cq}));
  }
}

}  // namespace
}  // namespace verbena
