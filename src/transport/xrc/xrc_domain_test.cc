#include "transport/xrc/xrc_domain.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

TEST(XrcDomainTest, FindsAddedReceiversUntilTheyAreRemoved) {
  XrcDomain domain;
  EXPECT_EQ(domain.Find(SrqNumber(0)), nullptr);
  for (const uint32_t number : {7u, 0u, wire::kMax24, 3u}) {
    domain.Add({.number = SrqNumber(number), .pd = memory::PdId(number + 1)});
  }
  for (const uint32_t number : {0u, 3u, 7u, wire::kMax24}) {
    ASSERT_NE(domain.Find(SrqNumber(number)), nullptr);
    EXPECT_EQ(domain.Find(SrqNumber(number))->pd, memory::PdId(number + 1));
  }
  EXPECT_EQ(domain.Find(SrqNumber(4)), nullptr);
  domain.Remove(SrqNumber(3));
  EXPECT_EQ(domain.Find(SrqNumber(3)), nullptr);
  EXPECT_NE(domain.Find(SrqNumber(7)), nullptr);
  for (const uint32_t number : {0u, 7u, wire::kMax24}) domain.Remove(SrqNumber(number));
  EXPECT_TRUE(domain.empty());
}

TEST(XrcDomainDeathTest, ANumberIsUsedOnce) {
  XrcDomain domain;
  domain.Add({.number = SrqNumber(1)});
  EXPECT_DEATH(domain.Add({.number = SrqNumber(1)}), "");
  EXPECT_DEATH(domain.Remove(SrqNumber(2)), "");
}

}  // namespace
}  // namespace verbena::transport
