#include "cli/payload.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbena::cli {
namespace {

TEST(PayloadTest, EveryWrongByteIsFound) {
  for (const size_t size : {0U, 1U, 7U, 8U, 9U, 64U, 1'001U}) {
    std::vector<std::byte> bytes(size);
    FillPayload(bytes, 17);
    EXPECT_EQ(FindWrongByte(bytes, 17), std::nullopt);
    for (size_t i = 0; i < size; ++i) {
      bytes[i] ^= std::byte{1};
      EXPECT_EQ(FindWrongByte(bytes, 17), i);
      bytes[i] ^= std::byte{1};
    }
  }
}

TEST(PayloadTest, DifferentSeedsGiveDifferentBytes) {
  std::vector<std::byte> bytes(64);
  FillPayload(bytes, 1);
  EXPECT_TRUE(FindWrongByte(bytes, 2));
}

}  // namespace
}  // namespace verbena::cli
