#include "verbena/counters.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

TEST(Counters, EachReasonHasANameOfItsOwn) {
  std::set<std::string> names;
  for (size_t i = 0; i < kDrops; ++i) names.insert(NameOf(static_cast<Drop>(i)));
  EXPECT_EQ(names.size(), kDrops);
}

TEST(Counters, AreFoundByReason) {
  PortCounters counters;
  counters.dropped[static_cast<size_t>(Drop::kWrongPeer)] = 3;
  EXPECT_EQ(counters.dropped_for(Drop::kWrongPeer), 3U);
  EXPECT_EQ(counters.dropped_for(Drop::kBadIcrc), 0U);
}

}  // namespace
}  // namespace verbena::adapter
