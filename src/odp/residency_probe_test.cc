#include "odp/residency_probe.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/pages.h"

namespace verbena::odp {
namespace {

constexpr uint64_t kPage = 4'096;
constexpr uint64_t kPages = 600;
using Method = ResidencyProbe::Method;

class ResidencyProbeTest : public testing::TestWithParam<Method> {
 protected:
  ResidencyProbeTest() {
    start_ = static_cast<std::byte*>(
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    // Otherwise touching one page may page in its neighbours.
    madvise(start_, kPages * kPage, MADV_NOHUGEPAGE);
  }
  ~ResidencyProbeTest() override { munmap(start_, kPages * kPage); }

  uint64_t Address(uint64_t page) const {
    return reinterpret_cast<uintptr_t>(start_) + page * kPage;
  }
  void Touch(uint64_t page) { start_[page * kPage] = std::byte{1}; }

  std::byte* start_ = nullptr;
  const ResidencyProbe scan_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Methods, ResidencyProbeTest,
                         testing::Values(Method::kPagemap, Method::kMincore), [](const auto& row) {
                           return row.param == Method::kPagemap ? "Pagemap" : "Mincore";
                         });

TEST_P(ResidencyProbeTest, ReportsTouchedPages) {
  EXPECT_TRUE(scan_.Probe(Address(0), 512).none());
  for (const uint64_t page : {0U, 2U, 3U, 511U}) Touch(page);
  const auto present = scan_.Probe(Address(0), 512);
  EXPECT_EQ(present.count(), 4U);
  EXPECT_TRUE(present[0] && present[2] && present[3] && present[511]);
  EXPECT_EQ(scan_.Probe(Address(2), 2).count(), 2U);
  EXPECT_EQ(scan_.Probe(Address(2), 0).count(), 0U);
}

TEST_P(ResidencyProbeTest, ReportsEveryOtherPage) {
  for (uint64_t page = 0; page < 512; page += 2) Touch(page);
  const auto present = scan_.Probe(Address(0), 512);
  EXPECT_EQ(present.count(), 256U);
  EXPECT_TRUE(present[510] && !present[511]);
}

TEST_P(ResidencyProbeTest, ReportsPagesThatLeft) {
  for (uint64_t page = 0; page < 10; ++page) Touch(page);
  madvise(start_ + 2 * kPage, kPage, MADV_DONTNEED);
  munmap(start_ + 5 * kPage, kPage);
  const auto present = scan_.Probe(Address(0), 10);
  EXPECT_EQ(present.count(), 8U);
  EXPECT_FALSE(present[2] || present[5]);
}

TEST_P(ResidencyProbeTest, UnmappedPagesAnywhereAreAbsent) {
  for (uint64_t page = 0; page < 512; ++page) Touch(page);
  using Run = std::pair<uint64_t, uint64_t>;
  for (const auto& [first, count] : {Run{0, 2}, {7, 1}, {9, 1}, {100, 300}, {511, 1}}) {
    munmap(start_ + first * kPage, count * kPage);
  }
  const auto present = scan_.Probe(Address(0), 512);
  EXPECT_EQ(present.count(), 512U - 305U);
  for (const uint64_t page : {2U, 6U, 8U, 10U, 99U, 400U, 510U}) EXPECT_TRUE(present[page]) << page;
  munmap(start_, 512 * kPage);
  EXPECT_TRUE(scan_.Probe(Address(0), 512).none());
}

TEST_P(ResidencyProbeTest, ThePrefixMayBeLongerThanAProbe) {
  EXPECT_EQ(scan_.LookForPrefix(Address(0), kPages), 0U);
  for (uint64_t page = 0; page < 530; ++page) Touch(page);
  EXPECT_EQ(scan_.LookForPrefix(Address(0), kPages), 530U);
  EXPECT_EQ(scan_.LookForPrefix(Address(0), 520), 520U);
  EXPECT_EQ(scan_.LookForPrefix(Address(0), 0), 0U);
}

TEST_P(ResidencyProbeTest, PagesBehindTheEndOfAFileAreAbsent) {
  memory::PagesForTest file(4);
  std::memset(file.data(), 1, file.size());
  const auto at = reinterpret_cast<uintptr_t>(file.data());
  EXPECT_EQ(scan_.LookForPrefix(at, 4), 4U);
  file.Truncate(1);
  EXPECT_EQ(scan_.LookForPrefix(at, 4), 1U);
}

}  // namespace
}  // namespace verbena::odp
