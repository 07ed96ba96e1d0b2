#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <thread>

#include <gtest/gtest.h>

#include "ibverbs/objects/objects.h"
#include "tests/support/ibverbs_end.h"
#include "tests/support/stuck_pages.h"

namespace verbena::ibverbs {
namespace {

constexpr size_t kBytes = 16 * 4'096;

// Registers fresh memory, of which no page is resident.
class PrefetchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    bytes_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(bytes_, MAP_FAILED);
    mr_ = ibv_reg_mr(end_.pd, bytes_, kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
    ASSERT_NE(mr_, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(ibv_dereg_mr(mr_), 0);
    munmap(bytes_, kBytes);
  }

  int Advise(ibv_advise_mr_advice advice, uint32_t length, uint32_t flags,
             uint32_t key_difference = 0, ibv_pd* pd = nullptr) {
    ibv_sge range{.addr = reinterpret_cast<uint64_t>(bytes_),
                  .length = length,
                  .lkey = mr_->lkey + key_difference};
    return ibv_advise_mr(pd != nullptr ? pd : end_.pd, advice, flags, &range, 1);
  }
  size_t PagesThere() const {
    unsigned char there[kBytes / 4'096];
    EXPECT_EQ(mincore(bytes_, kBytes, there), 0);
    size_t count = 0;
    for (const unsigned char page : there) count += page & 1U;
    return count;
  }

  testing::VerbsEnd end_;
  void* bytes_ = nullptr;
  ibv_mr* mr_ = nullptr;
};

TEST_F(PrefetchTest, PagesInItsRangeBeforeItReturns) {
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 4 * 4'096, IBV_ADVISE_MR_FLAG_FLUSH), 0);
  EXPECT_EQ(PagesThere(), 4U);
}

TEST_F(PrefetchTest, NoFaultAdvicePagesInNothing) {
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, kBytes, IBV_ADVISE_MR_FLAG_FLUSH), 0);
  EXPECT_EQ(PagesThere(), 0U);
}

TEST_F(PrefetchTest, CanReturnBeforeThePagesArePresent) {
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH, kBytes, 0), 0);
}

TEST_F(PrefetchTest, InvalidArgumentsAreRefused) {
  const auto prefetch = IBV_ADVISE_MR_ADVICE_PREFETCH;
  EXPECT_EQ(Advise(prefetch, kBytes + 1, IBV_ADVISE_MR_FLAG_FLUSH), EINVAL);
  EXPECT_EQ(Advise(prefetch, 8, 1U << 4), EINVAL);
  EXPECT_EQ(Advise(prefetch, 8, 0, 1), ENOENT) << "no such key";
  EXPECT_EQ(Advise(static_cast<ibv_advise_mr_advice>(3), 8, 0), EOPNOTSUPP);
  EXPECT_EQ(ibv_advise_mr(end_.pd, prefetch, 0, nullptr, 0), EINVAL);
  ibv_pd* const other = ibv_alloc_pd(end_.context);
  EXPECT_EQ(Advise(prefetch, 8, 0, 0, other), EPERM);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST(PrefetchThreads, ARegionWhosePagesACallWaitsForIsNotDeregistered) {
  if (!StuckPages::IsAllowed(StuckPages::Faults::kAll)) {
    GTEST_SKIP() << "pages that the kernel waits for need the rights of root";
  }
  testing::VerbsEnd end;
  StuckPages pages(1, StuckPages::Faults::kAll);
  ibv_mr* const mr = ibv_reg_mr(end.pd, pages.bytes().data(), pages.bytes().size(),
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
  ASSERT_NE(mr, nullptr);
  pages.Stick(0, 1);
  std::thread waits([&] {
    ibv_sge range{.addr = pages.address(), .length = 8, .lkey = mr->lkey};
    EXPECT_EQ(
        ibv_advise_mr(end.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &range, 1),
        0);
  });
  while (!Cast(mr).users.any()) std::this_thread::yield();
  EXPECT_EQ(ibv_dereg_mr(mr), EBUSY);
  pages.Release();
  waits.join();
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
