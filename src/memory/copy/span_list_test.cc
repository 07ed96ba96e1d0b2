#include "memory/copy/span_list.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbena::memory {
namespace {

Span At(uint64_t address, uint64_t length) { return {MachineAddress(address), length}; }

// Not inlined: in sanitizer builds the compiler would warn of the uninitialised part of the list,
// which is never read.
[[gnu::noinline]] bool Append(SpanList& list, Span span) { return list.Append(span); }

std::vector<Span> SpansOf(const SpanList& list) {
  std::vector<Span> spans;
  for (const Span span : list) spans.push_back(span);
  return spans;
}

TEST(SpanListTest, StartsEmpty) {
  const SpanList list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.size(), 0u);
  EXPECT_EQ(list.length(), 0u);
  EXPECT_TRUE(SpansOf(list).empty());
}

TEST(SpanListTest, KeepsSpansInOrder) {
  SpanList list;
  EXPECT_TRUE(Append(list, At(0x3000, 10)));
  EXPECT_TRUE(Append(list, At(0x1000, 20)));
  EXPECT_EQ(SpansOf(list), (std::vector{At(0x3000, 10), At(0x1000, 20)}));
  EXPECT_EQ(list.length(), 30u);
  EXPECT_EQ(list[1], At(0x1000, 20));
}

TEST(SpanListTest, MergesContiguousBytes) {
  SpanList list;
  EXPECT_TRUE(Append(list, At(0x1ff0, 0x10)));
  EXPECT_TRUE(Append(list, At(0x2000, 0x1000)));
  EXPECT_EQ(SpansOf(list), std::vector{At(0x1ff0, 0x1010)});
  EXPECT_EQ(list.length(), 0x1010u);
}

TEST(SpanListTest, MergesWithTheLastSpanOnly) {
  SpanList list;
  EXPECT_TRUE(Append(list, At(0x1000, 0x1000)));
  EXPECT_TRUE(Append(list, At(0x8000, 0x1000)));
  EXPECT_TRUE(Append(list, At(0x2000, 0x1000)));
  EXPECT_EQ(list.size(), 3u);
  EXPECT_TRUE(Append(list, At(0x1fff, 1)));  // before the last span, not after it
  EXPECT_EQ(list.size(), 4u);
}

class FullSpanListTest : public testing::Test {
 protected:
  FullSpanListTest() {
    for (uint64_t i = 0; i < SpanList::kCapacity; ++i) {
      EXPECT_TRUE(Append(list_, At(i * 0x2000, 0x1000)));
    }
  }
  SpanList list_;
};

TEST_F(FullSpanListTest, RefusesAnotherSpanWithoutChange) {
  const std::vector<Span> before = SpansOf(list_);
  EXPECT_FALSE(Append(list_, At(0x100000, 1)));
  EXPECT_EQ(SpansOf(list_), before);
  EXPECT_EQ(list_.length(), SpanList::kCapacity * 0x1000);
}

TEST_F(FullSpanListTest, StillExtendsTheLastSpan) {
  const uint64_t end = (SpanList::kCapacity - 1) * 0x2000 + 0x1000;
  EXPECT_TRUE(Append(list_, At(end, 5)));
  EXPECT_EQ(list_.size(), SpanList::kCapacity);
  EXPECT_EQ(list_[SpanList::kCapacity - 1].length, 0x1005u);
}

TEST_F(FullSpanListTest, IsEmptyWhenCleared) {
  list_.Clear();
  EXPECT_TRUE(list_.empty());
  EXPECT_EQ(list_.length(), 0u);
  EXPECT_TRUE(Append(list_, At(1, 1)));
}

TEST(SpanListTest, ASpanMayEndAt2To64) {
  SpanList list;
  EXPECT_TRUE(Append(list, At(UINT64_MAX - 1, 1)));
  EXPECT_TRUE(Append(list, At(UINT64_MAX, 1)));
  EXPECT_EQ(SpansOf(list), std::vector{At(UINT64_MAX - 1, 2)});
}

}  // namespace
}  // namespace verbena::memory
