#include "adapter/objects/path_table.h"

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

IpAddress Ip(const char* text) { return *ParseIpAddress(text); }

AddressVector Vector(const char* from, const char* to) {
  return {.source = Ip(from), .destination = Ip(to)};
}

TEST(PathTable, MakesARoute) {
  const fabric::SystemAddresses addresses;
  PathTable table(10, addresses);
  AddressVector vector = Vector("127.0.0.1", "127.0.0.2");
  vector.traffic_class = 8;
  const auto id = table.Add(vector);
  ASSERT_TRUE(id.has_value());
  const Path* const path = table.Find(*id);
  ASSERT_NE(path, nullptr);
  const fabric::Route route = path->RouteTo(QpNumber(0x00'3002), {.ports = {.others = 1'000}});
  EXPECT_EQ(ToString(route.from), "127.0.0.1");
  EXPECT_EQ(ToString(route.to), "127.0.0.2:1003");
  EXPECT_EQ(route.traffic_class, 8);
}

TEST(PathTable, KnowsWhetherAPathEndsOnThisMachine) {
  const fabric::SystemAddresses addresses;
  PathTable table(10, addresses);
  const auto ends_here = [&](const char* from, const char* to) {
    return table.Find(*table.Add(Vector(from, to)))->ends_here;
  };
  EXPECT_TRUE(ends_here("127.0.0.1", "127.0.0.1"));
  EXPECT_TRUE(ends_here("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(ends_here("::1", "::1"));
  EXPECT_FALSE(ends_here("127.0.0.1", "192.0.2.1"));  // RFC 5737: for documentation
  EXPECT_FALSE(ends_here("127.0.0.1", "224.0.0.5"));
  EXPECT_TRUE(table.Find(*table.Add(Vector("::1", "ff02::1")))->is_multicast);
}

// On 127.0.0.0/8 the kernel sends from 127.0.0.1 by default.
TEST(PathTable, KnowsWhenTheSourceIsTheDefault) {
  const fabric::SystemAddresses addresses;
  PathTable table(10, addresses);
  const auto usual = [&](const char* from, const char* to) {
    const Path& path = *table.Find(*table.Add(Vector(from, to)));
    return path.RouteTo(QpNumber(1), {}).from_is_usual;
  };
  EXPECT_TRUE(usual("127.0.0.1", "127.0.0.1"));
  EXPECT_TRUE(usual("127.0.0.1", "127.0.0.9"));
  EXPECT_FALSE(usual("127.0.0.9", "127.0.0.9"));
  EXPECT_FALSE(usual("127.0.0.1", "192.0.2.1"));  // on a path to another machine it may change
}

TEST(PathTable, SetsAHopLimitOnlyIfItIsNotTheDefault) {
  const fabric::SystemAddresses addresses;
  PathTable table(10, addresses);
  const auto named = [&](const char* to, uint8_t hop_limit) {
    AddressVector vector = Vector("127.0.0.1", to);
    vector.hop_limit = hop_limit;
    return table.Find(*table.Add(vector))->RouteTo(QpNumber(1), {}).hop_limit;
  };
  EXPECT_EQ(named("192.0.2.1", 9), 9);
  EXPECT_EQ(named("192.0.2.1", kUsualHopLimit), 0);
  EXPECT_EQ(named("127.0.0.1", 9), 0);
}

TEST(PathTable, RefusesMixedFamiliesAndTooManyPaths) {
  const fabric::SystemAddresses addresses;
  PathTable table(1, addresses);
  const auto mixed = table.Add(Vector("127.0.0.1", "::1"));
  ASSERT_FALSE(mixed.has_value());
  EXPECT_EQ(mixed.error().code, ErrorCode::kInvalid);
  const auto first = table.Add(Vector("::1", "::1"));
  const auto second = table.Add(Vector("::1", "::1"));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kLimit);
  table.Remove(*first);
  EXPECT_EQ(table.Find(*first), nullptr);
  const auto third = table.Add(Vector("::1", "::1"));
  ASSERT_TRUE(third.has_value());
  EXPECT_NE(*third, *first);
}

}  // namespace
}  // namespace verbena::adapter
