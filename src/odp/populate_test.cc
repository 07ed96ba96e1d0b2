#include "odp/populate.h"

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/signal_guard.h"

namespace verbena::odp {
namespace {

constexpr uint64_t kPage = 4'096;
constexpr uint64_t kPages = 8;

class PopulateTest : public testing::TestWithParam<PopulateMethod> {
 protected:
  void SetUp() override {
    memory::SignalGuard::Install();
    void* const place =
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    memory_ = static_cast<unsigned char*>(place);
  }
  void TearDown() override { munmap(memory_, kPages * kPage); }

  uint64_t At(uint64_t offset) const { return reinterpret_cast<uintptr_t>(memory_) + offset; }
  int PresentPages() const {
    std::vector<unsigned char> present(kPages);
    EXPECT_EQ(mincore(memory_, kPages * kPage, present.data()), 0);
    int count = 0;
    for (const unsigned char page : present) count += page & 1;
    return count;
  }
  bool Populate(uint64_t offset, uint64_t length, bool for_write) {
    return odp::Populate(At(offset), length, for_write, GetParam());
  }

  unsigned char* memory_ = nullptr;
};

TEST_P(PopulateTest, PagesInExactlyThePagesOfTheRange) {
  EXPECT_EQ(PresentPages(), 0);
  EXPECT_TRUE(Populate(kPage - 1, 2, true));
  EXPECT_EQ(PresentPages(), 2);
  EXPECT_TRUE(Populate(5 * kPage, kPage, true));
  EXPECT_EQ(PresentPages(), 3);
  EXPECT_TRUE(Populate(0, 0, true));
  EXPECT_EQ(PresentPages(), 3);
}

TEST_P(PopulateTest, KeepsTheContentsOfResidentPages) {
  memory_[3] = 42;
  EXPECT_TRUE(Populate(0, kPages * kPage, true));
  EXPECT_TRUE(Populate(0, kPages * kPage, false));
  EXPECT_EQ(memory_[3], 42);
  EXPECT_EQ(memory_[kPage], 0);
}

TEST_P(PopulateTest, FailsToWriteToReadOnlyPages) {
  mprotect(memory_, kPages * kPage, PROT_READ);
  EXPECT_TRUE(Populate(0, kPage, false));
  EXPECT_FALSE(Populate(0, kPage, true));
}

TEST_P(PopulateTest, FailsOnUnmappedPages) {
  munmap(memory_ + 3 * kPage, kPage);
  EXPECT_TRUE(Populate(0, 3 * kPage, true));
  EXPECT_FALSE(Populate(2 * kPage, 2 * kPage, true));
  EXPECT_FALSE(Populate(3 * kPage, 1, false));
}

TEST_P(PopulateTest, FailsBehindTheEndOfAFile) {
  const int file = memfd_create("populate", 0);
  ASSERT_EQ(ftruncate(file, kPage), 0);
  void* const place =
      mmap(memory_, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  ASSERT_EQ(place, memory_);
  EXPECT_TRUE(Populate(0, kPage, true));
  EXPECT_FALSE(Populate(kPage, kPage, false));
  close(file);
}

INSTANTIATE_TEST_SUITE_P(Methods, PopulateTest,
                         testing::Values(PopulateMethod::kAdvise, PopulateMethod::kTouch),
                         [](const auto& test) {
                           return test.param == PopulateMethod::kAdvise ? "Advise" : "Touch";
                         });

TEST(PopulateMethodTest, IsMadviseHere) {
  // The tests above need both methods; this test says which of them the adapter uses here.
  EXPECT_EQ(BestPopulateMethod(), PopulateMethod::kAdvise);
}

}  // namespace
}  // namespace verbena::odp
