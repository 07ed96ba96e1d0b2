#include "ibverbs/objects/dm.h"

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

class DmTest : public testing::VerbsPairTest {
 protected:
  static constexpr unsigned kAccess =
      IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

  static ibv_dm* Allocate(testing::VerbsEnd& end, size_t length) {
    ibv_alloc_dm_attr attributes{.length = length, .log_align_req = 0, .comp_mask = 0};
    return ibv_alloc_dm(end.context, &attributes);
  }
};

TEST_F(DmTest, HasTheSizeThatTheDeviceReports) {
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(a.context, nullptr, &device), 0);
  EXPECT_EQ(device.max_dm_size, kDeviceMemoryMax);
  ibv_dm* const all = Allocate(a, device.max_dm_size);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(Allocate(a, 4), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(ibv_free_dm(all), 0);
  EXPECT_EQ(Allocate(a, device.max_dm_size + 1), nullptr);
  EXPECT_EQ(Allocate(a, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(DmTest, IsCopiedInWholeWordsWithinItsBounds) {
  ibv_dm* const dm = Allocate(a, 100);
  const std::string text = "twelve bytes";
  ASSERT_EQ(ibv_memcpy_to_dm(dm, 88, text.data(), text.size()), 0);
  std::array<char, 12> back{};
  ASSERT_EQ(ibv_memcpy_from_dm(back.data(), dm, 88, back.size()), 0);
  EXPECT_EQ(std::string(back.data(), back.size()), text);
  using Range = std::pair<uint64_t, size_t>;
  for (const auto& [offset, length] :
       {Range{1, 4}, Range{4, 3}, Range{100, 4}, Range{92, 12}, Range{104, 0}}) {
    EXPECT_NE(ibv_memcpy_to_dm(dm, offset, text.data(), length), 0) << offset << ", " << length;
    EXPECT_NE(ibv_memcpy_from_dm(back.data(), dm, offset, length), 0) << offset << ", " << length;
  }
  EXPECT_EQ(ibv_free_dm(dm), 0);
}

TEST_F(DmTest, APeerWritesIntoIt) {
  Connect();
  ibv_dm* const dm = Allocate(b, 64);
  ibv_mr* const mr = ibv_reg_dm_mr(b.pd, dm, 16, 48, kAccess);
  ASSERT_NE(mr, nullptr);
  a.Fill(0, "a word!!");
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr write = Request(IBV_WR_RDMA_WRITE, &sge);
  write.wr.rdma.remote_addr = 8;
  write.wr.rdma.rkey = mr->rkey;
  ASSERT_EQ(a.Post(qa, write), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  std::array<char, 8> back{};
  ASSERT_EQ(ibv_memcpy_from_dm(back.data(), dm, 24, back.size()), 0);
  EXPECT_EQ(std::string(back.data(), back.size()), "a word!!");
  EXPECT_EQ(ibv_free_dm(dm), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_free_dm(dm), 0);
}

TEST_F(DmTest, RegionsAreZeroBasedAndInside) {
  ibv_dm* const dm = Allocate(a, 100);
  EXPECT_EQ(ibv_reg_dm_mr(a.pd, dm, 0, 104, kAccess), nullptr);
  EXPECT_EQ(ibv_reg_dm_mr(a.pd, dm, 100, 4, kAccess), nullptr);
  EXPECT_EQ(ibv_reg_dm_mr(a.pd, dm, 0, 100, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_free_dm(dm), 0);
}

TEST_F(DmTest, AnImportSharesTheMemory) {
  ibv_dm* const dm = Allocate(a, 8);
  ibv_dm* const imported = ibv_import_dm(a.context, dm->handle);
  ASSERT_NE(imported, nullptr);
  ASSERT_EQ(ibv_memcpy_to_dm(dm, 0, "original", 8), 0);
  EXPECT_EQ(ibv_free_dm(dm), 0);
  std::array<char, 8> back{};
  ASSERT_EQ(ibv_memcpy_from_dm(back.data(), imported, 0, back.size()), 0);
  EXPECT_EQ(std::string(back.data(), back.size()), "original");
  ibv_unimport_dm(imported);
  EXPECT_EQ(ibv_import_dm(a.context, 4711), nullptr);
}

TEST_F(DmTest, ARegionOfAnImportOutlivesTheImportAndTheMemory) {
  Connect();
  ibv_dm* const dm = Allocate(b, 64);
  ibv_dm* const imported = ibv_import_dm(b.context, dm->handle);
  ibv_mr* const mr = ibv_reg_dm_mr(b.pd, imported, 0, 64, kAccess);
  ASSERT_NE(mr, nullptr);
  ibv_unimport_dm(imported);
  EXPECT_EQ(ibv_free_dm(dm), 0) << "the region is of the import";
  ibv_sge sge = a.Sge(0, 8);
  ibv_send_wr write = Request(IBV_WR_RDMA_WRITE, &sge);
  write.wr.rdma = {.remote_addr = 0, .rkey = mr->rkey};
  ASSERT_EQ(a.Post(qa, write), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
