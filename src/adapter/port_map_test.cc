#include "adapter/port_map.h"

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

TEST(PortMap, ThePortFollowsFromTheEndpointInTheQpNumber) {
  const PortMap ports{};
  EXPECT_EQ(ports.PortOf(QpNumber(0x000'005)), 4'791);
  EXPECT_EQ(ports.PortOf(QpNumber(0x001'005)), 61'001);
  EXPECT_EQ(ports.PortOf(QpNumber(0xFFF'005)), 65'095);
  EXPECT_EQ(ports.PortOf(wire::kMulticastQp), 4'791);
  for (const uint32_t number : {0x000'005U, 0x001'005U, 0xFFF'005U}) {
    EXPECT_EQ(ports.SourcePortOf(QpNumber(number)), ports.PortOf(QpNumber(number)));
  }
}

// Other implementations send to one port, from any port.
TEST(PortMap, StrictModeHasOnePort) {
  const PortMap strict{.strict = true};
  EXPECT_EQ(strict.PortOf(QpNumber(0xAB0'005)), 4'791);
  EXPECT_EQ(strict.SourcePortOf(QpNumber(0xAB0'005)), 0);
}

TEST(PortMap, AQpNumberConsistsOfEndpointAndIndex) {
  const QpNumber qp = MakeQpNumber(fabric::EndpointId(0xABC), 0xDEF);
  EXPECT_EQ(qp, QpNumber(0xABCDEF));
  EXPECT_EQ(EndpointOf(qp), fabric::EndpointId(0xABC));
  EXPECT_EQ(NumberWithin(qp), 0xDEFU);
}

}  // namespace
}  // namespace verbena::adapter
