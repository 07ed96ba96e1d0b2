#include "transport/iwarp/outbound_reads.h"

#include <gtest/gtest.h>

namespace verbena::transport {
namespace {

using queue::WqeNumber;
using wire::DdpMsn;

TEST(OutboundReadsTest, ResponsesArriveInOrder) {
  OutboundReads reads(2);
  EXPECT_EQ(reads.front(), nullptr);
  for (uint32_t i = 1; i < 10; ++i) {
    reads.Add({.wqe = WqeNumber(i), .msn = DdpMsn(i), .sink = Key(i)});
    reads.Add({.wqe = WqeNumber(i + 1), .msn = DdpMsn(i + 1), .sink = Key(i + 1)});
    EXPECT_EQ(reads.size(), 2);
    EXPECT_EQ(reads.front()->wqe, WqeNumber(i));
    reads.Pop();
    EXPECT_EQ(reads.front()->wqe, WqeNumber(i + 1));
    reads.Pop();
    EXPECT_TRUE(reads.empty());
  }
}

TEST(OutboundReadsTest, FindsTheReadOfAnStagAndTheRequestOfANumber) {
  OutboundReads reads(3);
  reads.Add({.msn = DdpMsn(7), .is_atomic = true});
  reads.Add({.msn = DdpMsn(8), .sink = Key(0)});
  EXPECT_EQ(reads.Find(Key(0))->msn, DdpMsn(8));
  EXPECT_EQ(reads.Find(Key(1)), nullptr);
  EXPECT_TRUE(reads.Find(DdpMsn(7))->is_atomic);
  EXPECT_EQ(reads.Find(DdpMsn(9)), nullptr);
  reads.Clear();
  EXPECT_EQ(reads.Find(Key(0)), nullptr);
}

TEST(OutboundReadsDeathTest, HasRoomForAsManyAsWereNegotiated) {
  OutboundReads reads(1);
  reads.Add({});
  EXPECT_DEATH(reads.Add({}), "CHECK failed");
}

}  // namespace
}  // namespace verbena::transport
