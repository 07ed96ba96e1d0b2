#include "transport/iwarp/masked_atomic.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::transport {
namespace {

using wire::RdmapAtomicOpcode;
using wire::RdmapAtomicRequest;

RdmapAtomicRequest Add(uint64_t value, uint64_t mask) {
  return {.opcode = RdmapAtomicOpcode::kFetchAdd, .add_or_swap = value, .add_or_swap_mask = mask};
}

// Bit by bit, as the specification has it.
uint64_t AddByBits(uint64_t a, uint64_t b, uint64_t mask) {
  uint64_t sum = 0;
  unsigned carry = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const unsigned total =
        static_cast<unsigned>(a >> bit & 1) + static_cast<unsigned>(b >> bit & 1) + carry;
    sum |= uint64_t{total & 1} << bit;
    carry = (mask >> bit & 1) != 0 ? 0 : total >> 1;
  }
  return sum;
}

TEST(MaskedAtomicTest, AnAddWithoutAMaskIsThatOfTheVerbs) {
  EXPECT_EQ(ApplyAtomic(Add(2, 0), 40), 42);
  EXPECT_EQ(ApplyAtomic(Add(1, 0), UINT64_MAX), 0);
  EXPECT_TRUE(IsPlain(Add(2, 0)));
}

TEST(MaskedAtomicTest, NoCarryLeavesAField) {
  EXPECT_EQ(ApplyAtomic(Add(0x01, 0x80), 0xFF), 0x00);
  EXPECT_EQ(ApplyAtomic(Add(0x0101, 0x8080), 0x02FF), 0x0300);
  EXPECT_FALSE(IsPlain(Add(1, 0x80)));
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t a = random.Next64();
    const uint64_t b = random.Next64();
    const uint64_t mask = random.Next64() & random.Next64();
    ASSERT_EQ(ApplyAtomic(Add(b, mask), a), AddByBits(a, b, mask)) << std::hex << a << " " << b;
  }
}

TEST(MaskedAtomicTest, ACompareAndSwapLooksAtAndChangesTheBitsOfItsMasks) {
  RdmapAtomicRequest swap{.opcode = RdmapAtomicOpcode::kCompareSwap,
                          .add_or_swap = 0x1234,
                          .add_or_swap_mask = 0xFF,
                          .compare = 0xAB00,
                          .compare_mask = 0xFF00};
  EXPECT_EQ(ApplyAtomic(swap, 0xABCD), 0xAB34);
  EXPECT_EQ(ApplyAtomic(swap, 0xAACD), 0xAACD);
  EXPECT_FALSE(IsPlain(swap));
  swap.add_or_swap_mask = swap.compare_mask = UINT64_MAX;
  EXPECT_TRUE(IsPlain(swap));
  EXPECT_EQ(ApplyAtomic(swap, 0xAB00), 0x1234);
}

}  // namespace
}  // namespace verbena::transport
