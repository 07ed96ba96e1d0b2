#include "rdmacm/rsocket/byte_ring.h"

#include <gtest/gtest.h>

namespace verbena::rsockets {
namespace {

TEST(ByteRing, TakesAndReleasesInOrder) {
  ByteRing ring(10);
  EXPECT_EQ(ring.Take(4).first, (BufferPart{.offset = 0, .length = 4}));
  EXPECT_EQ(ring.Take(4).first, (BufferPart{.offset = 4, .length = 4}));
  EXPECT_EQ(ring.free(), 2U);
  ring.Release(4);
  EXPECT_EQ(ring.Front(4).first, (BufferPart{.offset = 4, .length = 4}));
}

TEST(ByteRing, SplitsAPartAtTheEnd) {
  ByteRing ring(10);
  static_cast<void>(ring.Take(8));
  ring.Release(6);
  const RingPart part = ring.Take(5);
  EXPECT_EQ(part.first, (BufferPart{.offset = 8, .length = 2}));
  EXPECT_EQ(part.second, (BufferPart{.offset = 0, .length = 3}));
  EXPECT_EQ(part.length(), 5U);
  EXPECT_EQ(ring.Front(7).length(), 7U);
}

TEST(ByteRing, CanBeFullAndEmpty) {
  ByteRing ring(3);
  EXPECT_EQ(ring.Take(3).length(), 3U);
  EXPECT_EQ(ring.free(), 0U);
  ring.Release(3);
  EXPECT_EQ(ring.used(), 0U);
  EXPECT_EQ(ring.Take(0).length(), 0U);
}

}  // namespace
}  // namespace verbena::rsockets
