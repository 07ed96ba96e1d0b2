#include "transport/xrc/xrc_domain.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using wire::XrcSrqNumber;

TEST(XrcDomainTest, FindsWhatWasAddedAndNotRemoved) {
  XrcDomain domain;
  EXPECT_EQ(domain.Find(XrcSrqNumber(0)), nullptr);
  for (const uint32_t number : {7u, 0u, wire::kMax24, 3u}) {
    domain.Add({.number = XrcSrqNumber(number), .pd = memory::PdId(number + 1)});
  }
  for (const uint32_t number : {0u, 3u, 7u, wire::kMax24}) {
    ASSERT_NE(domain.Find(XrcSrqNumber(number)), nullptr);
    EXPECT_EQ(domain.Find(XrcSrqNumber(number))->pd, memory::PdId(number + 1));
  }
  EXPECT_EQ(domain.Find(XrcSrqNumber(4)), nullptr);
  domain.Remove(XrcSrqNumber(3));
  EXPECT_EQ(domain.Find(XrcSrqNumber(3)), nullptr);
  EXPECT_NE(domain.Find(XrcSrqNumber(7)), nullptr);
  for (const uint32_t number : {0u, 7u, wire::kMax24}) domain.Remove(XrcSrqNumber(number));
  EXPECT_TRUE(domain.empty());
}

TEST(XrcDomainDeathTest, ANumberIsGivenOnce) {
  XrcDomain domain;
  domain.Add({.number = XrcSrqNumber(1)});
  EXPECT_DEATH(domain.Add({.number = XrcSrqNumber(1)}), "");
  EXPECT_DEATH(domain.Remove(XrcSrqNumber(2)), "");
}

}  // namespace
}  // namespace verbena::transport
