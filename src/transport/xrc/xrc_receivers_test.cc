#include "transport/xrc/xrc_receivers.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

TEST(XrcReceiversTest, FindsAddedReceiversUntilTheyAreRemoved) {
  XrcReceivers receivers;
  EXPECT_EQ(receivers.Find(SrqNumber(0)), nullptr);
  for (const uint32_t number : {7u, 0u, wire::kMax24, 3u}) {
    receivers.Add({.number = SrqNumber(number), .pd = memory::PdId(number + 1)});
  }
  for (const uint32_t number : {0u, 3u, 7u, wire::kMax24}) {
    ASSERT_NE(receivers.Find(SrqNumber(number)), nullptr);
    EXPECT_EQ(receivers.Find(SrqNumber(number))->pd, memory::PdId(number + 1));
  }
  EXPECT_EQ(receivers.Find(SrqNumber(4)), nullptr);
  receivers.Remove(SrqNumber(3));
  EXPECT_EQ(receivers.Find(SrqNumber(3)), nullptr);
  EXPECT_NE(receivers.Find(SrqNumber(7)), nullptr);
  for (const uint32_t number : {0u, 7u, wire::kMax24}) receivers.Remove(SrqNumber(number));
  EXPECT_TRUE(receivers.empty());
}

TEST(XrcReceiversDeathTest, ANumberIsUsedOnce) {
  XrcReceivers receivers;
  receivers.Add({.number = SrqNumber(1)});
  EXPECT_DEATH(receivers.Add({.number = SrqNumber(1)}), "");
  EXPECT_DEATH(receivers.Remove(SrqNumber(2)), "");
}

}  // namespace
}  // namespace verbena::transport
