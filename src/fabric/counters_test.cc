#include "fabric/counters.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace verbena::fabric {
namespace {

TEST(Counters, EachReasonHasANameOfItsOwn) {
  std::set<std::string> names;
  for (size_t i = 0; i < kSendDrops; ++i) names.insert(NameOf(static_cast<SendDrop>(i)));
  EXPECT_EQ(names.size(), kSendDrops);
}

TEST(Counters, AddUp) {
  TransmitCounters sum{.datagrams = 1, .bytes = 2};
  sum.dropped[static_cast<size_t>(SendDrop::kForbidden)] = 3;
  sum += sum;
  EXPECT_EQ(sum.datagrams, 2U);
  EXPECT_EQ(sum.bytes, 4U);
  EXPECT_EQ(sum.dropped_for(SendDrop::kForbidden), 6U);
}

}  // namespace
}  // namespace verbena::fabric
