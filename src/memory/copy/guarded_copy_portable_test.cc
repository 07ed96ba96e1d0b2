#include <array>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/guarded_copy_raw.h"
#include "tests/support/pages.h"

namespace verbena::memory::internal::portable {
namespace {

constexpr size_t kPage = PagesForTest::kPage;

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

TEST(PortableGuardedCopy, CopiesAcrossPagesAtAnyOffset) {
  std::vector<unsigned char> source(3 * kPage), target(3 * kPage);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(1));
  for (const size_t size : {size_t{0}, size_t{1}, kPage - 1, kPage, kPage + 1, 2 * kPage + 9}) {
    std::fill(target.begin(), target.end(), 0);
    EXPECT_EQ(Copy(target.data() + 3, source.data() + 5, size).copied, size);
    EXPECT_EQ(std::memcmp(target.data() + 3, source.data() + 5, size), 0);
    EXPECT_EQ(target[3 + size], 0);
  }
}

TEST(PortableGuardedCopy, StopsWhereTheSourceEnds) {
  const PagesForTest pages(3);
  pages.Protect(2, PROT_NONE);
  std::array<std::byte, 2 * kPage> target{};
  const RawCopy result = Copy(target.data(), pages.page(2) - kPage - 7, target.size());
  EXPECT_EQ(result.copied, kPage + 7);
  EXPECT_EQ(result.fault, AddressOf(pages.page(2)));
}

TEST(PortableGuardedCopy, StopsWhereTheTargetEnds) {
  const PagesForTest pages(2);
  pages.Truncate(1);
  const std::array<std::byte, 100> source{};
  const RawCopy result = Copy(pages.page(1) - 7, source.data(), source.size());
  EXPECT_EQ(result.copied, 7u);
  EXPECT_EQ(result.fault, AddressOf(pages.page(1)));
}

TEST(PortableGuardedCopy, WordsAreLoadedAndChanged) {
  alignas(8) uint64_t word = 5;
  EXPECT_EQ(Load(&word).value, 5u);
  EXPECT_EQ(Exchange(&word, 6).value, 5u);
  EXPECT_EQ(FetchAdd(&word, ~uint64_t{0}).value, 6u);
  EXPECT_EQ(CompareAndSwap(&word, 5, 9).value, 5u);
  EXPECT_EQ(CompareAndSwap(&word, 5, 1).value, 9u);
  EXPECT_EQ(word, 9u);
}

TEST(PortableGuardedCopy, ReportsMissingWords) {
  const PagesForTest pages(1);
  EXPECT_EQ(Load(pages.data()).missing, 0u);
  pages.Protect(0, PROT_READ);
  EXPECT_EQ(Load(pages.data()).missing, 0u);
  EXPECT_EQ(Exchange(pages.data(), 1).missing, 1u);
  pages.Protect(0, PROT_NONE);
  EXPECT_EQ(Load(pages.data()).missing, 1u);
  EXPECT_EQ(FetchAdd(pages.data(), 1).missing, 1u);
  EXPECT_EQ(CompareAndSwap(pages.data(), 0, 1).missing, 1u);
}

// All operations share one lock, rather than one for each.
TEST(PortableGuardedCopyThreads, DifferentAtomicsExcludeEachOther) {
  alignas(8) uint64_t word = 0;
  constexpr uint64_t kRounds = 20'000;
  std::thread adder([&word] {
    for (uint64_t i = 0; i < kRounds; ++i) FetchAdd(&word, 2);
  });
  uint64_t swapped = 0;
  for (uint64_t i = 0; i < kRounds; ++i) {
    const uint64_t seen = Load(&word).value;
    if (CompareAndSwap(&word, seen, seen + 1).value == seen) ++swapped;
  }
  adder.join();
  EXPECT_EQ(word, 2 * kRounds + swapped);
}

}  // namespace
}  // namespace verbena::memory::internal::portable
