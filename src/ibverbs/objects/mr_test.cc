#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ibverbs/query/device.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

constexpr int kWritable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
constexpr int kReadable = IBV_ACCESS_REMOTE_READ;

class MrTest : public testing::VerbsPairTest {
 protected:
  void SetUp() override { Connect(); }

  // Writes "hello" from a to this address of b's.
  int Write(uint64_t address, uint32_t rkey) {
    a.Fill(0, "hello");
    ibv_sge sge = a.Sge(0, 5);
    ibv_send_wr write = Request(IBV_WR_RDMA_WRITE, &sge);
    write.wr.rdma.remote_addr = address;
    write.wr.rdma.rkey = rkey;
    EXPECT_EQ(a.Post(qa, write), 0);
    return a.WaitStatus();
  }
  uint64_t There(size_t offset) { return reinterpret_cast<uint64_t>(b.bytes.data()) + offset; }
};

TEST_F(MrTest, HasTheFieldsOfTheVerbs) {
  EXPECT_EQ(b.mr->addr, b.bytes.data());
  EXPECT_EQ(b.mr->length, b.bytes.size());
  EXPECT_EQ(b.mr->pd, b.pd);
  EXPECT_EQ(b.mr->context, b.context);
  EXPECT_NE(b.mr->lkey, 0U);
}

TEST_F(MrTest, IsAccessibleAtItsAddress) {
  EXPECT_EQ(Write(There(64), b.mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(64, 5), "hello");
}

TEST_F(MrTest, IsAccessibleAtItsIova) {
  ibv_mr* const mr = ibv_reg_mr_iova(b.pd, b.bytes.data(), 4'096, 0x10000, kWritable);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(Write(0x10000 + 64, mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(64, 5), "hello");
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

// As with a driver that pins memory; with IBV_ACCESS_ON_DEMAND as with one that does not.
TEST_F(MrTest, MemoryThatIsNotMappedIsRefusedUnlessOnDemand) {
  void* const pages = mmap(nullptr, 8'192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  errno = 0;
  EXPECT_EQ(ibv_reg_mr(b.pd, pages, 8'192, kWritable), nullptr) << "not writable";
  EXPECT_EQ(errno, EFAULT);
  ibv_mr* const read_only = ibv_reg_mr(b.pd, pages, 8'192, kReadable);
  ASSERT_NE(read_only, nullptr);
  errno = 0;
  EXPECT_EQ(ibv_rereg_mr(read_only, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kWritable),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(ibv_dereg_mr(read_only), 0);
  ASSERT_EQ(munmap(pages, 8'192), 0);
  errno = 0;
  EXPECT_EQ(ibv_reg_mr(b.pd, pages, 8'192, kReadable), nullptr);
  EXPECT_EQ(errno, EFAULT);
  ibv_mr* const on_demand = ibv_reg_mr(b.pd, pages, 8'192, kWritable | IBV_ACCESS_ON_DEMAND);
  ASSERT_NE(on_demand, nullptr);
  EXPECT_EQ(ibv_dereg_mr(on_demand), 0);
}

TEST_F(MrTest, AZeroBasedRegionBeginsAtZero) {
  ibv_mr* const mr =
      ibv_reg_mr(b.pd, b.bytes.data() + 128, 4'096, kWritable | IBV_ACCESS_ZERO_BASED);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(Write(3, mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(131, 5), "hello");
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(MrTest, CanCoverTheWholeAddressSpace) {
  ibv_mr* const mr = ibv_reg_mr(b.pd, nullptr, SIZE_MAX, kWritable | IBV_ACCESS_ON_DEMAND);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(Write(There(64), mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(64, 5), "hello");
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(MrTest, ANullRegionReadsAsZeros) {
  ibv_mr* const null = ibv_alloc_null_mr(a.pd);
  ASSERT_NE(null, nullptr);
  b.Fill(64, "hello");
  ibv_sge sge{.addr = 0x1234, .length = 5, .lkey = null->lkey};
  ibv_send_wr write = Request(IBV_WR_RDMA_WRITE, &sge);
  write.wr.rdma.remote_addr = There(64);
  ASSERT_EQ(a.Post(qa, write), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(64, 5), std::string(5, '\0'));
  EXPECT_EQ(ibv_dereg_mr(null), 0);
}

TEST_F(MrTest, OptionalFlagsAreAccepted) {
  const unsigned access = kWritable | IBV_ACCESS_RELAXED_ORDERING;
  ibv_mr* const mr = ibv_reg_mr(b.pd, b.bytes.data(), 64, access);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(MrTest, BadFlagsAreRefused) {
  for (const int access : {int{IBV_ACCESS_REMOTE_WRITE}, int{IBV_ACCESS_REMOTE_ATOMIC}, 1 << 8}) {
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(b.pd, b.bytes.data(), 64, access), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  EXPECT_EQ(ibv_reg_dmabuf_mr(b.pd, 0, 64, 0, 0, 0), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(MrTest, ADeregisteredKeyIsRefused) {
  ibv_mr* const mr = ibv_reg_mr(b.pd, b.bytes.data(), 4'096, kWritable);
  const uint32_t rkey = mr->rkey;
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(Write(There(64), rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(MrTest, ReregisteringChangesTheMemory) {
  std::vector<char> other(4'096);
  ibv_mr* const mr = ibv_reg_mr(b.pd, b.bytes.data(), 64, kWritable);
  ASSERT_EQ(
      ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other.data(), other.size(), 0), 0);
  EXPECT_EQ(mr->addr, other.data());
  EXPECT_EQ(mr->length, other.size());
  EXPECT_EQ(Write(reinterpret_cast<uint64_t>(other.data()), mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(std::string(other.data(), 5), "hello");
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(MrTest, ReregisteringChangesTheRights) {
  ibv_mr* const mr = ibv_reg_mr(b.pd, b.bytes.data(), 4'096, int{IBV_ACCESS_LOCAL_WRITE});
  const uint32_t rkey = mr->rkey;
  ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kWritable), 0);
  EXPECT_EQ(mr->rkey, rkey) << "peers know it already";
  EXPECT_EQ(Write(There(64), rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(MrTest, ReregisteringChangesTheDomain) {
  ibv_pd* const pd = ibv_alloc_pd(b.context);
  ibv_mr* const mr = ibv_reg_mr(b.pd, b.bytes.data(), 4'096, kWritable);
  ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, nullptr, 0, 0), 0);
  EXPECT_EQ(mr->pd, pd);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(Write(There(64), mr->rkey), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(MrTest, AnInvalidChangeHasNoEffect) {
  const int all = IBV_REREG_MR_CHANGE_TRANSLATION;
  const uint32_t rkey = b.mr->rkey;
  EXPECT_EQ(ibv_rereg_mr(b.mr, 1 << 7, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_rereg_mr(b.mr, all, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_rereg_mr(b.mr, all, nullptr, b.bytes.data(), 64, kWritable),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(
      ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE),
      IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(b.mr->rkey, rkey);
  EXPECT_EQ(Write(There(0), rkey), IBV_WC_SUCCESS);
}

TEST(MrBudgetTest, ARegionOutsideTheBudgetIsLoggedOnce) {
  setenv("VERBENA_MEMORY_BUDGET", "1M", 1);
  ibv_context* const context = ibv_open_device(&TheDevice());
  unsetenv("VERBENA_MEMORY_BUDGET");
  ASSERT_NE(context, nullptr);
  ibv_pd* const pd = ibv_alloc_pd(context);
  std::vector<char> bytes(4'096);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    ibv_mr* const mr = ibv_reg_mr(pd, bytes.data(), bytes.size(), kWritable);
    EXPECT_NE(mr, nullptr);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  const std::string words = "a region of 4096 bytes is not under the memory budget";
  EXPECT_NE(said.find(words), std::string::npos) << said;
  EXPECT_EQ(said.find(words), said.rfind(words));
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
