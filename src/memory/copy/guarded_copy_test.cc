#include "memory/copy/guarded_copy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/pages.h"

namespace verbena::memory {
namespace {

constexpr size_t kPage = PagesForTest::kPage;
constexpr std::byte kUntouched{0xEE};

// A byte that differs from its neighbours and from those at the distance of a vector or a page.
std::byte Pattern(size_t i) { return static_cast<std::byte>((i * 7 + i / 251) % 253); }

std::vector<std::byte> PatternBytes(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = Pattern(i);
  return bytes;
}

CopyResult Complete(size_t size) { return {.copied = size, .fault = std::nullopt}; }

CopyResult MissingAt(size_t copied, const void* address) {
  return {.copied = copied, .fault = MachineAddressOf(address)};
}

class GuardedCopyTest : public testing::Test {
 protected:
  void SetUp() override { SignalGuard::Install(); }
  void TearDown() override { SignalGuard::Uninstall(); }
};

using GuardedWordTest = GuardedCopyTest;
using GuardedCopyThreads = GuardedCopyTest;

void ExpectCopies(size_t size, size_t from_offset, size_t to_offset) {
  const std::vector<std::byte> source = PatternBytes(from_offset + size);
  std::vector<std::byte> target(to_offset + size + 64, kUntouched);
  std::vector<std::byte> expected = target;
  std::copy_n(source.begin() + static_cast<ptrdiff_t>(from_offset), size,
              expected.begin() + static_cast<ptrdiff_t>(to_offset));
  EXPECT_EQ(GuardedCopy(target.data() + to_offset, source.data() + from_offset, size),
            Complete(size));
  EXPECT_TRUE(target == expected) << size << " bytes, " << from_offset << " to " << to_offset;
}

TEST_F(GuardedCopyTest, CopiesEverySmallSizeAndNothingElse) {
  for (size_t size = 0; size <= 520; ++size) {
    for (const size_t offset : {0u, 1u, 7u, 31u}) ExpectCopies(size, offset, 33 - offset);
  }
}

TEST_F(GuardedCopyTest, CopiesAtEveryAlignment) {
  for (size_t from = 0; from < 33; ++from) {
    for (size_t to = 0; to < 33; ++to) ExpectCopies(300, from, to);
  }
}

TEST_F(GuardedCopyTest, CopiesLargeSizes) {
  for (const size_t size : {4095u, 4096u, 4097u, 65536u, (1u << 20) + 13u}) {
    ExpectCopies(size, 3, 5);
  }
}

TEST_F(GuardedCopyTest, NothingToCopyTouchesNothing) {
  EXPECT_EQ(GuardedCopy(nullptr, nullptr, 0), Complete(0));
}

// The copy must stop at the exact byte, for all sizes and alignments of its blocks.
TEST_F(GuardedCopyTest, StopsWhereTheSourceEnds) {
  const PagesForTest pages(2);
  std::ranges::copy(PatternBytes(kPage), pages.data());
  pages.Protect(1, PROT_NONE);
  for (size_t size = 1; size <= 400; ++size) {
    for (const size_t present : {size_t{0}, size / 3, size / 2, size - 1}) {
      const std::byte* from = pages.page(1) - present;
      std::vector<std::byte> target(size, kUntouched);
      ASSERT_EQ(GuardedCopy(target.data(), from, size), MissingAt(present, pages.page(1)));
      ASSERT_EQ(std::memcmp(target.data(), from, present), 0) << size;
    }
  }
}

TEST_F(GuardedCopyTest, StopsWhereTheTargetEnds) {
  const PagesForTest pages(2);
  pages.Protect(1, PROT_NONE);
  const std::vector<std::byte> source = PatternBytes(400);
  for (size_t size = 1; size <= 400; ++size) {
    for (const size_t present : {size_t{0}, size / 3, size / 2, size - 1}) {
      std::byte* to = pages.page(1) - present;
      ASSERT_EQ(GuardedCopy(to, source.data(), size), MissingAt(present, pages.page(1)));
      ASSERT_EQ(std::memcmp(to, source.data(), present), 0) << size;
    }
  }
}

TEST_F(GuardedCopyTest, StopsInTheMiddleOfALargeCopy) {
  const PagesForTest pages(8);
  std::ranges::copy(PatternBytes(pages.size()), pages.data());
  pages.Protect(5, PROT_NONE);
  std::vector<std::byte> target(pages.size(), kUntouched);
  const size_t present = 5 * kPage - 3;
  EXPECT_EQ(GuardedCopy(target.data(), pages.data() + 3, pages.size() - 3),
            MissingAt(present, pages.page(5)));
  EXPECT_EQ(std::memcmp(target.data(), pages.data() + 3, present), 0);
  EXPECT_EQ(target.back(), kUntouched);
}

TEST_F(GuardedCopyTest, ReadOnlyTargetIsAFault) {
  const PagesForTest pages(1);
  pages.Protect(0, PROT_READ);
  const std::array<std::byte, 100> source{};
  EXPECT_EQ(GuardedCopy(pages.data() + 8, source.data(), 100), MissingAt(0, pages.data() + 8));
}

TEST_F(GuardedCopyTest, UnmappedPageIsAFault) {
  const PagesForTest pages(2);
  pages.Unmap(1);
  std::array<std::byte, 64> target;
  EXPECT_EQ(GuardedCopy(target.data(), pages.page(1) - 16, 64), MissingAt(16, pages.page(1)));
}

TEST_F(GuardedCopyTest, TruncatedFileIsAFault) {
  const PagesForTest pages(2);
  pages.Truncate(1);
  std::array<std::byte, 64> buffer{};
  EXPECT_EQ(GuardedCopy(buffer.data(), pages.page(1) - 10, 64), MissingAt(10, pages.page(1)));
  EXPECT_EQ(GuardedCopy(pages.page(1) - 20, buffer.data(), 64), MissingAt(20, pages.page(1)));
}

TEST_F(GuardedCopyTest, NonCanonicalAddressesAreFaults) {
  std::array<std::byte, 256> buffer{};
  for (const uint64_t address : {uint64_t{0}, uint64_t{1} << 63, ~uint64_t{0} - 255}) {
    std::byte* const nowhere = PointerTo(MachineAddress(address));
    for (const size_t size : {1u, 8u, 40u, 256u}) {
      EXPECT_EQ(GuardedCopy(buffer.data(), nowhere, size), MissingAt(0, nowhere));
      EXPECT_EQ(GuardedCopy(nowhere, buffer.data(), size), MissingAt(0, nowhere));
    }
  }
}

TEST_F(GuardedCopyTest, WorksAgainWhenThePageIsMapped) {
  const PagesForTest pages(1);
  const std::vector<std::byte> source = PatternBytes(kPage);
  for (int round = 0; round < 3; ++round) {
    pages.Protect(0, PROT_NONE);
    EXPECT_EQ(GuardedCopy(pages.data(), source.data(), kPage), MissingAt(0, pages.data()));
    pages.Protect(0, PROT_READ | PROT_WRITE);
    EXPECT_EQ(GuardedCopy(pages.data(), source.data(), kPage), Complete(kPage));
  }
  EXPECT_EQ(std::memcmp(pages.data(), source.data(), kPage), 0);
}

TEST_F(GuardedWordTest, LoadsAndStores) {
  alignas(8) uint64_t word = 5;
  EXPECT_EQ(GuardedLoad64(&word), 5u);
  EXPECT_TRUE(GuardedStore64(&word, ~uint64_t{0}).has_value());
  EXPECT_EQ(word, ~uint64_t{0});
}

TEST_F(GuardedWordTest, SwapsOnlyTheExpectedValue) {
  alignas(8) uint64_t word = 5;
  EXPECT_EQ(GuardedCompareAndSwap64(&word, 5, 7), 5u);
  EXPECT_EQ(word, 7u);
  EXPECT_EQ(GuardedCompareAndSwap64(&word, 5, 9), 7u);
  EXPECT_EQ(word, 7u);
}

TEST_F(GuardedWordTest, AdditionWraps) {
  alignas(8) uint64_t word = ~uint64_t{0};
  EXPECT_EQ(GuardedFetchAdd64(&word, 3), ~uint64_t{0});
  EXPECT_EQ(word, 2u);
}

TEST_F(GuardedWordTest, MissingPageIsAFault) {
  const PagesForTest pages(1);
  pages.Protect(0, PROT_NONE);
  std::byte* const word = pages.data() + 16;
  const MemoryFault fault{MachineAddressOf(word)};
  EXPECT_EQ(GuardedLoad64(word).error(), fault);
  EXPECT_EQ(GuardedStore64(word, 1).error(), fault);
  EXPECT_EQ(GuardedCompareAndSwap64(word, 0, 1).error(), fault);
  EXPECT_EQ(GuardedFetchAdd64(word, 1).error(), fault);
}

TEST_F(GuardedWordTest, ReadOnlyPageCanOnlyBeLoaded) {
  const PagesForTest pages(1);
  pages.Protect(0, PROT_READ);
  EXPECT_EQ(GuardedLoad64(pages.data()), 0u);
  EXPECT_FALSE(GuardedStore64(pages.data(), 1).has_value());
  // Also if the value would not change: a locked instruction always writes.
  EXPECT_FALSE(GuardedCompareAndSwap64(pages.data(), 1, 2).has_value());
  EXPECT_FALSE(GuardedFetchAdd64(pages.data(), 0).has_value());
}

TEST(GuardedWordDeathTest, RefusesAMisalignedWord) {
  alignas(8) std::array<std::byte, 16> bytes{};
  EXPECT_DEATH((void)GuardedLoad64(bytes.data() + 4), "CHECK failed");
  EXPECT_DEATH((void)GuardedStore64(bytes.data() + 1, 0), "CHECK failed");
  EXPECT_DEATH((void)GuardedCompareAndSwap64(bytes.data() + 7, 0, 0), "CHECK failed");
  EXPECT_DEATH((void)GuardedFetchAdd64(bytes.data() + 2, 0), "CHECK failed");
}

// Removes and restores page 1 repeatedly, in all possible ways, until it is stopped.
class PageRemover {
 public:
  explicit PageRemover(const PagesForTest& pages) : thread_([this, &pages] { Run(pages); }) {
    while (!started_) std::this_thread::yield();
  }
  ~PageRemover() {
    stop_ = true;
    thread_.join();
  }

 private:
  void Run(const PagesForTest& pages) {
    while (!stop_) {
      pages.Protect(1, PROT_NONE);
      started_ = true;
      pages.Protect(1, PROT_READ | PROT_WRITE);
      pages.Truncate(1);
      pages.Truncate(2);
    }
  }

  std::atomic<bool> started_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(GuardedCopyThreads, PagesAreUnmappedAndMappedDuringACopy) {
  const PagesForTest pages(2);
  const PageRemover remover(pages);
  const std::vector<std::byte> source = PatternBytes(2 * kPage);
  size_t completed = 0, faulted = 0;
  for (size_t i = 0; i < 100'000 || completed < 100 || faulted < 100; ++i) {
    ASSERT_LT(i, 100'000'000u) << completed << " completed, " << faulted << " faulted";
    const size_t before = i % 300, size = before + 1 + i % 977;
    std::byte* const to = pages.page(1) - before;
    const CopyResult result = GuardedCopy(to, source.data(), size);
    if (result.fault) {
      ++faulted;
      ASSERT_GE(result.copied, before);
      ASSERT_LT(result.copied, size);
      ASSERT_EQ(result.fault, MachineAddressOf(to + result.copied));
    } else {
      ++completed;
      ASSERT_EQ(result.copied, size);
    }
    ASSERT_EQ(std::memcmp(to, source.data(), before), 0);
  }
}

TEST_F(GuardedCopyThreads, ManyThreadsFaultConcurrently) {
  const PagesForTest pages(2);
  const PageRemover remover(pages);
  std::vector<std::thread> copiers;
  for (int t = 0; t < 4; ++t) {
    copiers.emplace_back([&pages] {
      std::array<std::byte, 256> target;
      for (int i = 0; i < 10'000; ++i) {
        const CopyResult result = GuardedCopy(target.data(), pages.page(1) - 100, 256);
        ASSERT_EQ(result.copied == 256, !result.fault.has_value());
        ASSERT_GE(result.copied, 100u);
      }
    });
  }
  for (std::thread& copier : copiers) copier.join();
}

// Runs `body` in two threads that start together.
template <class Body>
void RunTwice(Body body) {
  std::latch start(2);
  const auto run = [&] {
    start.arrive_and_wait();
    body();
  };
  std::thread first(run), second(run);
  first.join();
  second.join();
}

// Programs poll words that a peer writes: no word is seen half written, even if the next page is
// missing.
TEST_F(GuardedCopyThreads, AFaultStoresWholeWords) {
  const PagesForTest pages(2);
  pages.Protect(1, PROT_NONE);
  constexpr size_t kPresent = 24;
  std::byte* const source = pages.page(1) - kPresent;
  alignas(8) std::array<std::atomic<uint64_t>, 5> target{};
  std::atomic<bool> is_over = false;
  std::thread watcher([&] {
    while (!is_over.load()) {
      const uint64_t word = target[2].load();
      ASSERT_TRUE(word == 0 || word == ~uint64_t{0}) << std::hex << word;
    }
  });
  for (int round = 0; round < 20'000; ++round) {
    std::memset(source, round % 2 == 0 ? 0xFF : 0, kPresent);
    ASSERT_EQ(GuardedCopy(target.data(), source, sizeof target),
              MissingAt(kPresent, pages.page(1)));
  }
  is_over.store(true);
  watcher.join();
}

TEST_F(GuardedCopyThreads, AdditionsAreAtomic) {
  alignas(8) uint64_t word = 0;
  constexpr uint64_t kRounds = 500'000;
  RunTwice([&word] {
    for (uint64_t i = 0; i < kRounds; ++i) ASSERT_TRUE(GuardedFetchAdd64(&word, 1).has_value());
  });
  EXPECT_EQ(word, 2 * kRounds);
}

TEST_F(GuardedCopyThreads, SwapsAreAtomic) {
  alignas(8) uint64_t word = 0;
  constexpr uint64_t kRounds = 200'000;
  RunTwice([&word] {
    for (uint64_t i = 0; i < kRounds; ++i) {
      uint64_t seen = *GuardedLoad64(&word);
      for (uint64_t before; (before = *GuardedCompareAndSwap64(&word, seen, seen + 1)) != seen;) {
        seen = before;
      }
    }
  });
  EXPECT_EQ(word, 2 * kRounds);
}

}  // namespace
}  // namespace verbena::memory
