#include "wire/mad/cm_path.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/support/cm_messages.h"

namespace verbena::wire {
namespace {

// The tests of REQ and LAP check the bytes.
TEST(CmPathTest, SurvivesARoundTripInBothMessages) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const CmPath path = DrawCmPath(random);
    std::array<std::byte, CmPath::kSize> bytes;
    path.SerializeReq(bytes);
    EXPECT_EQ(CmPath::ParseReq(bytes), path);
    path.SerializeLap(bytes);
    EXPECT_EQ(CmPath::ParseLap(bytes), path);
  }
}

TEST(CmPathTest, TheMessagesDifferInThreeBytes) {
  const CmPath path{.packet_rate = 1, .traffic_class = 2, .hop_limit = 3};
  std::array<std::byte, CmPath::kSize> req, lap;
  path.SerializeReq(req);
  path.SerializeLap(lap);
  EXPECT_EQ((std::array{req[39], req[40], req[41]}),
            (std::array{std::byte{1}, std::byte{2}, std::byte{3}}));
  EXPECT_EQ((std::array{lap[39], lap[40], lap[41]}),
            (std::array{std::byte{2}, std::byte{3}, std::byte{1}}));
}

}  // namespace
}  // namespace verbena::wire
