#include "rdmacm/objects/shared_device.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <gtest/gtest.h>

namespace verbena::rdmacm {
namespace {

TEST(SharedDeviceTest, TheDeviceIsOpenedOnce) {
  const auto first = SharedDevice::Get();
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_EQ(*SharedDevice::Get(), *first);
  EXPECT_TRUE((*first)->handle());
  EXPECT_EQ((*first)->pd()->context, (*first)->verbs());
  ibv_device_attr limits{};
  ASSERT_EQ(ibv_query_device((*first)->verbs(), &limits), 0);
  EXPECT_EQ((*first)->responder_resources_max(), limits.max_qp_rd_atom);
  EXPECT_EQ((*first)->initiator_depth_max(), limits.max_qp_init_rd_atom);
}

TEST(SharedDeviceTest, AForkedChildOpensItsOwn) {
  const auto device = SharedDevice::Get();
  ASSERT_TRUE(device);
  const pid_t child = fork();
  if (child == 0) {
    const auto own = SharedDevice::Get();
    _exit(own && *own != *device ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SharedDeviceTest, TheXrcDomainIsOpenedOnce) {
  const auto device = SharedDevice::Get();
  ASSERT_TRUE(device);
  ASSERT_NE((*device)->xrcd(), nullptr);
  EXPECT_EQ((*device)->xrcd(), (*device)->xrcd());
}

TEST(SharedDeviceTest, AddressesOfThisMachineHaveAnIndex) {
  const auto device = SharedDevice::Get();
  ASSERT_TRUE(device);
  const auto index = (*device)->GidIndexOf(*ParseIpAddress("127.0.0.1"), 0);
  ASSERT_TRUE(index) << index.error().text;
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid((*device)->verbs(), 1, *index, &gid), 0);
  EXPECT_EQ(gid.raw[12], 127);
  const auto foreign = (*device)->GidIndexOf(*ParseIpAddress("192.0.2.1"), 0);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().os_error, ENODEV);
}

}  // namespace
}  // namespace verbena::rdmacm
