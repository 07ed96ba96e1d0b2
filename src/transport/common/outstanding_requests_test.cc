#include "transport/common/outstanding_requests.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using queue::WqeNumber;

TEST(OutstandingRequestsTest, FindsTheElementOfASequenceNumberAcrossTheWrap) {
  OutstandingRequests table(4);
  table.Start({.first_psn = Psn(0xfffffd), .psn_count = 2});
  table.Start({.first_psn = Psn(0xffffff), .psn_count = 0});
  table.Start({.first_psn = Psn(0xffffff), .psn_count = 3});
  EXPECT_TRUE(table.IsConsistent());
  EXPECT_EQ(table.Find(Psn(0xfffffe)), WqeNumber(0));
  EXPECT_EQ(table.Find(Psn(0xffffff)), WqeNumber(2));
  EXPECT_EQ(table.Find(Psn(1)), WqeNumber(2));
  EXPECT_EQ(table.Find(Psn(2)), std::nullopt);
  EXPECT_EQ(table.Find(Psn(0xfffffc)), std::nullopt);
}

TEST(OutstandingRequestsTest, RetiresInOrderAndTakesAsManyAsTheQueue) {
  OutstandingRequests table(3);
  for (uint32_t round = 0; round < 10; ++round) {
    for (uint32_t i = 0; i < 3; ++i) table.Start({.first_psn = Psn(i), .psn_count = 1});
    EXPECT_TRUE(table.IsConsistent());
    for (int i = 0; i < 3; ++i) table.RetireFront();
    EXPECT_TRUE(table.empty());
  }
  EXPECT_EQ(table.begin(), WqeNumber(30));
}

TEST(OutstandingRequestsTest, AGapInTheNumbersIsNoticed) {
  OutstandingRequests table(4);
  table.Start({.first_psn = Psn(1), .psn_count = 2});
  table.Start({.first_psn = Psn(4), .psn_count = 1});
  EXPECT_FALSE(table.IsConsistent());
}

}  // namespace
}  // namespace verbena::transport
