#include "ibverbs/query/device_text.h"

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

TEST(DeviceTextTest, NumbersAndNames) {
  EXPECT_EQ(HexText(0, 0), "0");
  EXPECT_EQ(HexText(0xABC, 0), "abc");
  EXPECT_EQ(HexText(0xABC, 8), "00000abc");
  EXPECT_EQ(HexText(UINT64_MAX, 4), "ffffffffffffffff");
  EXPECT_EQ(GuidText(__builtin_bswap64(0x0212'3456'789A'BCDE)), "0212:3456:789a:bcde");
  EXPECT_EQ(GidText(*ParseGid("fe80::1")), "fe80:0000:0000:0000:0000:0000:0000:0001");
  EXPECT_EQ(GidText(*ParseGid("10.0.0.1")), "0000:0000:0000:0000:0000:ffff:0a00:0001");
}

TEST(DeviceTextTest, TheRateIsLanesTimesSpeed) {
  ibv_port_attr port{};
  port.active_width = 2;
  port.active_speed = 32;
  EXPECT_EQ(RateText(port), "100 Gb/sec (4X EDR)");
  port.active_width = 1;
  EXPECT_EQ(RateText(port), "25 Gb/sec (1X EDR)");
  port.active_width = 8;
  port.active_speed = 64;
  EXPECT_EQ(RateText(port), "600 Gb/sec (12X HDR)");
}

TEST(DeviceTextTest, Processors) {
  EXPECT_EQ(CpuListText(1), "0");
  EXPECT_EQ(CpuListText(8), "0-7");
  EXPECT_EQ(CpuMaskText(1), "1");
  EXPECT_EQ(CpuMaskText(8), "ff");
  EXPECT_EQ(CpuMaskText(32), "ffffffff");
  EXPECT_EQ(CpuMaskText(40), "ff,ffffffff");
  EXPECT_EQ(CpuMaskText(64), "ffffffff,ffffffff");
}

}  // namespace
}  // namespace verbena::ibverbs
