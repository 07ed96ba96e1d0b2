#include "memory/copy/copier.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/pages.h"

namespace verbena::memory {
namespace {

constexpr size_t kPage = PagesForTest::kPage;

std::vector<std::byte> RandomBytes(Random& random, size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Below(256));
  return bytes;
}

class CopierTest : public testing::Test {
 protected:
  CopierTest() { SignalGuard::Install(); }
  ~CopierTest() override { SignalGuard::Uninstall(); }

  // Not inlined: in a sanitizer build gcc would warn of reads of spans that are not appended yet.
  [[gnu::noinline]] static void Append(SpanList& list, const std::byte* pointer, uint64_t length) {
    CHECK(list.Append({MachineAddressOf(pointer), length}));
  }

  // Three spans that are out of order in memory, end at a page boundary, and start within a page.
  SpanList Scattered() const {
    SpanList list;
    Append(list, pages_.page(3) - 100, 100);
    Append(list, pages_.page(1) + 13, 1);
    Append(list, pages_.page(0) + 7, kPage);
    return list;
  }

  // The bytes of the list, read without the code under test.
  static std::vector<std::byte> Gather(const SpanList& list) {
    std::vector<std::byte> bytes;
    for (const Span span : list) {
      const std::byte* begin = PointerTo(span.address);
      bytes.insert(bytes.end(), begin, begin + span.length);
    }
    return bytes;
  }

  PagesForTest pages_{4};
  Random random_{1};
};

using CopierDeathTest = CopierTest;

TEST_F(CopierTest, FillsTheSpansInOrder) {
  const SpanList list = Scattered();
  const std::vector<std::byte> message = RandomBytes(random_, list.length());
  EXPECT_EQ(CopyIn(list, message), (CopyOutcome{.copied = message.size(), .fault = {}}));
  EXPECT_EQ(Gather(list), message);
}

TEST_F(CopierTest, ReadsTheSpansInOrder) {
  const SpanList list = Scattered();
  std::ranges::copy(RandomBytes(random_, pages_.size()), pages_.data());
  std::vector<std::byte> message(list.length());
  EXPECT_EQ(CopyOut(message, list), (CopyOutcome{.copied = message.size(), .fault = {}}));
  EXPECT_EQ(message, Gather(list));
}

TEST_F(CopierTest, CopiesZeroBytes) {
  EXPECT_EQ(CopyIn(SpanList(), {}), (CopyOutcome{}));
  EXPECT_EQ(CopyOut({}, SpanList()), (CopyOutcome{}));
  EXPECT_EQ(CopyIn(Scattered(), Scattered().length(), {}), (CopyOutcome{}));
}

// Compares parts of a list with a copy of the whole.
TEST_F(CopierTest, ACopyOfAPartTouchesOnlyThatPart) {
  const SpanList list = Scattered();
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> expected = Gather(list);
    const uint64_t offset = random_.Below(list.length() + 1);
    const uint64_t length = random_.Below(std::min<uint64_t>(list.length() - offset, 300) + 1);
    const std::vector<std::byte> packet = RandomBytes(random_, length);
    ASSERT_EQ(CopyIn(list, offset, packet), (CopyOutcome{.copied = length, .fault = {}}));
    std::ranges::copy(packet, expected.begin() + static_cast<ptrdiff_t>(offset));
    ASSERT_EQ(Gather(list), expected);

    std::vector<std::byte> back(length);
    ASSERT_EQ(CopyOut(back, list, offset), (CopyOutcome{.copied = length, .fault = {}}));
    ASSERT_EQ(back, packet);
  }
}

TEST_F(CopierTest, ReportsTheMissingByte) {
  const SpanList list = Scattered();
  pages_.Protect(1, PROT_NONE);  // the whole second span, and the last 7 bytes of the third
  std::vector<std::byte> message(list.length());
  const CopyOutcome second = {.copied = 100, .fault = MachineAddressOf(pages_.page(1) + 13)};
  EXPECT_EQ(CopyIn(list, message), second);
  EXPECT_EQ(CopyOut(message, list), second);

  const CopyOutcome third = {.copied = kPage - 17, .fault = MachineAddressOf(pages_.page(1))};
  const std::span<std::byte> part = std::span(message).first(list.length() - 111);
  EXPECT_EQ(CopyIn(list, 111, part), third);
  EXPECT_EQ(CopyOut(part, list, 111), third);
}

TEST_F(CopierDeathTest, LengthsMustMatchOrFit) {
  const SpanList list = Scattered();
  std::vector<std::byte> message(list.length() + 1);
  const std::span<std::byte> bytes(message);
  EXPECT_DEATH((void)CopyIn(list, bytes), "CHECK failed");
  EXPECT_DEATH((void)CopyIn(list, bytes.first(3)), "CHECK failed");
  EXPECT_DEATH((void)CopyOut(bytes, list), "CHECK failed");
  EXPECT_DEATH((void)CopyIn(list, list.length(), bytes.first(1)), "CHECK failed");
  EXPECT_DEATH((void)CopyOut(bytes.first(2), list, ~uint64_t{0}), "CHECK failed");
}

class CopierAtomicTest : public CopierTest {
 protected:
  static SpanList WordAt(const std::byte* pointer) {
    SpanList list;
    Append(list, pointer, 8);
    return list;
  }

  uint64_t ValueAt(size_t offset) const {
    uint64_t value;
    std::memcpy(&value, pages_.data() + offset, sizeof value);
    return value;
  }
};

using CopierAtomicDeathTest = CopierAtomicTest;

TEST_F(CopierAtomicTest, AddsAndSwaps) {
  const SpanList word = WordAt(pages_.data() + 8);
  EXPECT_EQ(FetchAdd(word, 5), 0u);
  EXPECT_EQ(CompareAndSwap(word, 5, ~uint64_t{0}), 5u);
  EXPECT_EQ(FetchAdd(word, 2), ~uint64_t{0});
  EXPECT_EQ(CompareAndSwap(word, 9, 10), 1u);
  EXPECT_EQ(ValueAt(0), 0u);
  EXPECT_EQ(ValueAt(8), 1u);
  EXPECT_EQ(ValueAt(16), 0u);
}

TEST_F(CopierAtomicTest, RefusesAMisalignedWord) {
  for (size_t offset = 1; offset < 8; ++offset) {
    const AtomicFailure failure = {.reason = AtomicFailure::Reason::kMisaligned,
                                   .address = MachineAddressOf(pages_.data() + offset)};
    EXPECT_EQ(FetchAdd(WordAt(pages_.data() + offset), ~uint64_t{0}).error(), failure);
    EXPECT_EQ(CompareAndSwap(WordAt(pages_.data() + offset), 0, 1).error(), failure);
  }
  EXPECT_EQ(ValueAt(0), 0u);
  EXPECT_EQ(ValueAt(8), 0u);
}

// Two pages that are not adjacent: the word has two spans, even if each is aligned.
TEST_F(CopierAtomicTest, RefusesAWordInTwoSpans) {
  SpanList list;
  Append(list, pages_.page(1) - 4, 4);
  Append(list, pages_.page(3), 4);
  EXPECT_EQ(FetchAdd(list, 1).error().reason, AtomicFailure::Reason::kMisaligned);
}

TEST_F(CopierAtomicTest, ReportsAMissingPage) {
  pages_.Protect(0, PROT_READ);
  const AtomicFailure failure = {.reason = AtomicFailure::Reason::kMissing,
                                 .address = MachineAddressOf(pages_.data() + 24)};
  EXPECT_EQ(FetchAdd(WordAt(pages_.data() + 24), 1).error(), failure);
  EXPECT_EQ(CompareAndSwap(WordAt(pages_.data() + 24), 0, 1).error(), failure);
}

TEST_F(CopierAtomicDeathTest, RefusesOtherLengths) {
  SpanList list;
  EXPECT_DEATH((void)FetchAdd(list, 1), "CHECK failed");
  Append(list, pages_.data(), 16);
  EXPECT_DEATH((void)CompareAndSwap(list, 0, 1), "CHECK failed");
}

}  // namespace
}  // namespace verbena::memory
