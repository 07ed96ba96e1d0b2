#include "host/broker_path.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace verbena::host {
namespace {

TEST(BrokerPath, IsInTheUsersFolder) {
  const std::string path = DefaultBrokerSocket();
  EXPECT_TRUE(path.ends_with("/verbena/broker.sock"));
  EXPECT_EQ(path.front(), '/');
  if (geteuid() == 0) {
    EXPECT_EQ(path, "/run/verbena/broker.sock");
  }
}

}  // namespace
}  // namespace verbena::host
