#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

class ImportTest : public testing::VerbsPairTest {};

TEST_F(ImportTest, AContextIsFoundByItsFileAndClosedWithTheLast) {
  const int copy = dup(a.context->cmd_fd);
  ibv_context* const imported = ibv_import_device(copy);
  ASSERT_NE(imported, nullptr);
  EXPECT_EQ(fcntl(copy, F_GETFD), -1) << "the descriptor has a new owner";
  EXPECT_EQ(ibv_close_device(imported), 0);
  EXPECT_NE(a.MakeQp(), nullptr);
}

TEST_F(ImportTest, AnotherFileIsNotAContext) {
  const int file = memfd_create("foreign", MFD_CLOEXEC);
  EXPECT_EQ(ibv_import_device(file), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(close(file), 0) << "and stays with its owner";
}

TEST_F(ImportTest, ARegionIsUsedThroughItsImport) {
  Connect();
  ibv_pd* const pd = ibv_import_pd(b.context, b.pd->handle);
  ASSERT_NE(pd, nullptr);
  ibv_mr* const mr = ibv_import_mr(pd, b.mr->handle);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->lkey, b.mr->lkey);
  EXPECT_EQ(mr->length, b.mr->length);
  EXPECT_EQ(mr->pd, pd);
  a.Fill(0, "hello");
  ibv_sge sge = a.Sge(0, 5);
  ibv_send_wr write = Request(IBV_WR_RDMA_WRITE, &sge);
  write.wr.rdma.rkey = mr->rkey;
  ASSERT_EQ(a.Post(qa, write), 0);
  EXPECT_EQ(a.WaitStatus(), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(0, 5), "hello");
  ibv_unimport_mr(mr);
  ibv_unimport_pd(pd);
}

TEST_F(ImportTest, NewRegionsMayBeMadeInAnImportedDomain) {
  ibv_pd* const pd = ibv_import_pd(a.context, a.pd->handle);
  ibv_mr* const mr = ibv_reg_mr(pd, a.bytes.data(), 64, 0);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  ibv_unimport_pd(pd);
}

TEST_F(ImportTest, ObjectsOfADomainOutliveItsImport) {
  ibv_pd* const pd = ibv_import_pd(a.context, a.pd->handle);
  ibv_mr* const mr = ibv_reg_mr(pd, a.bytes.data(), 64, 0);
  ASSERT_NE(mr, nullptr);
  ibv_unimport_pd(pd);
  ibv_sge sge{.addr = reinterpret_cast<uintptr_t>(a.bytes.data()), .length = 64, .lkey = mr->lkey};
  EXPECT_EQ(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(ImportTest, AnEmptyImportedDomainIsDeallocated) {
  ibv_pd* const pd = ibv_import_pd(a.context, a.pd->handle);
  ASSERT_NE(pd, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ImportTest, UnknownHandlesAreRefused) {
  EXPECT_EQ(ibv_import_pd(a.context, 12'345), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_import_mr(a.pd, 12'345), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

// One thread imports by handle what another deallocates.
TEST(ImportThreads, ADomainIsDeallocatedOrImportedButNotBoth) {
  testing::VerbsEnd end;
  for (int i = 0; i < 200; ++i) {
    ibv_pd* const pd = ibv_alloc_pd(end.context);
    ASSERT_NE(pd, nullptr);
    ibv_pd* imported = nullptr;
    std::thread imports(
        [&, handle = pd->handle] { imported = ibv_import_pd(end.context, handle); });
    const int refused = ibv_dealloc_pd(pd);
    imports.join();
    if (refused == 0) {
      EXPECT_EQ(imported, nullptr);
    } else {
      EXPECT_EQ(refused, EBUSY);
      ASSERT_NE(imported, nullptr);
      ibv_unimport_pd(imported);
      EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    }
  }
}

}  // namespace
}  // namespace verbena::ibverbs
