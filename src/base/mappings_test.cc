#include "base/mappings.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include <gtest/gtest.h>

namespace verbena {
namespace {

using Lack = Mappings::Lack;
using Method = Mappings::Method;

constexpr uint64_t kPage = 4'096;
constexpr uint64_t kPages = 16;

// Sixteen pages that can be read and written, between two with PROT_NONE.
class MappingsTest : public testing::TestWithParam<Method> {
 protected:
  MappingsTest() {
    void* const all = mmap(nullptr, (kPages + 2) * kPage, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(all, MAP_FAILED);
    base_ = reinterpret_cast<uintptr_t>(all) + kPage;
    Protect(0, kPages, PROT_READ | PROT_WRITE);
  }
  ~MappingsTest() override { munmap(PageAt(uint64_t(-1)), (kPages + 2) * kPage); }

  void* PageAt(uint64_t page) { return reinterpret_cast<void*>(base_ + page * kPage); }
  void Protect(uint64_t page, uint64_t count, int protection) {
    EXPECT_EQ(mprotect(PageAt(page), count * kPage, protection), 0);
  }

  const Mappings mappings_{GetParam()};
  uint64_t base_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Methods, MappingsTest,
                         testing::Values(Method::kQuery, Method::kText, Method::kHoles));

// For the methods that also tell access rights.
using MappingRightsTest = MappingsTest;
INSTANTIATE_TEST_SUITE_P(Methods, MappingRightsTest,
                         testing::Values(Method::kQuery, Method::kText));

TEST_P(MappingsTest, MappedMemoryLacksNothing) {
  EXPECT_EQ(mappings_.Check(base_, kPages * kPage, true), std::nullopt);
  EXPECT_EQ(mappings_.Check(base_ + 1, kPages * kPage - 2, false), std::nullopt);
  EXPECT_EQ(mappings_.Check(base_ + kPages * kPage - 1, 1, true), std::nullopt);
}

TEST_P(MappingsTest, NoBytesLackNothing) { EXPECT_EQ(mappings_.Check(0, 0, true), std::nullopt); }

TEST_P(MappingsTest, AHoleIsFound) {
  munmap(PageAt(5), kPage);
  const auto lack = mappings_.Check(base_ + 100, kPages * kPage - 100, true);
  ASSERT_TRUE(lack.has_value());
  EXPECT_FALSE(lack->is_mapped);
  EXPECT_EQ(mappings_.Check(base_, 5 * kPage, true), std::nullopt) << "it ends before";
  EXPECT_EQ(mappings_.Check(base_ + 6 * kPage, 10 * kPage, true), std::nullopt) << "begins behind";
  EXPECT_TRUE(mappings_.Check(base_, 5 * kPage + 1, true).has_value()) << "a byte too many";
}

TEST_P(MappingRightsTest, TheFirstMissingPageIsReported) {
  munmap(PageAt(5), kPage);
  EXPECT_EQ(mappings_.Check(base_ + 100, kPages * kPage - 100, true),
            (Lack{base_ + 5 * kPage, false}));
}

TEST_P(MappingRightsTest, MemoryThatMayNotBeWrittenMayBeRead) {
  Protect(3, 2, PROT_READ);
  EXPECT_EQ(mappings_.Check(base_, kPages * kPage, true), (Lack{base_ + 3 * kPage, true}));
  EXPECT_EQ(mappings_.Check(base_, kPages * kPage, false), std::nullopt);
}

TEST_P(MappingRightsTest, MemoryThatMayNotBeReadIsLacking) {
  EXPECT_EQ(mappings_.Check(base_, kPages * kPage + 1, false),
            (Lack{base_ + kPages * kPage, true}));
}

TEST_P(MappingsTest, ManyMappingsAreWalked) {
  for (uint64_t page = 0; page < kPages; page += 2) Protect(page, 1, PROT_READ);
  EXPECT_EQ(mappings_.Check(base_, kPages * kPage, false), std::nullopt);
}

// The text contains the names of files, which can have any byte in them.
TEST_P(MappingsTest, AFileWithAnyNameMayBeMapped) {
  const int file = memfd_create("\xFF\xFE odd", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(ftruncate(file, kPage), 0);
  EXPECT_NE(mmap(PageAt(1), kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0),
            MAP_FAILED);
  close(file);
  EXPECT_EQ(mappings_.Check(base_, kPages * kPage, true), std::nullopt);
}

TEST_P(MappingsTest, TheEndOfTheAddressSpaceIsNotMapped) {
  EXPECT_TRUE(mappings_.Check(UINT64_MAX - 100, 101, false).has_value());
  EXPECT_TRUE(mappings_.Check(uint64_t{1} << 63, kPage, false).has_value());
  EXPECT_TRUE(mappings_.Check(0, kPage, false).has_value());
}

TEST_P(MappingsTest, NoPageIsTouched) {
  EXPECT_EQ(mappings_.Check(base_, kPages * kPage, true), std::nullopt);
  unsigned char present[kPages] = {};
  ASSERT_EQ(mincore(PageAt(0), kPages * kPage, present), 0);
  for (const unsigned char page : present) EXPECT_EQ(page & 1, 0);
}

TEST(Mappings, UsesTheRequestedMethod) {
  EXPECT_EQ(Mappings(Method::kText).method(), Method::kText);
  EXPECT_EQ(Mappings(Method::kHoles).method(), Method::kHoles);
}

}  // namespace
}  // namespace verbena
