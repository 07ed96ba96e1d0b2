#include "ibverbs/objects/mr_cache.h"

#include <infiniband/verbs.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "base/file_descriptor.h"
#include "tests/support/cache_ways.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

constexpr int kWritable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

Settings WithCache() {
  Settings settings;
  settings.cache_bytes = 1 << 20;
  return settings;
}

class MrCacheTest : public testing::VerbsPairTest {
 protected:
  void SetUp() override {
    Connect();
    OpenCache(Cast(b.pd), WithCache());
  }
  void TearDown() override { CloseCache(Cast(b.pd)); }

  ibv_mr* Register(size_t offset, size_t length, int access = kWritable) {
    return ibv_reg_mr(b.pd, b.bytes.data() + offset, length, access);
  }
  CacheStatistics Seen() { return Cast(b.pd).cache.Query(); }
  int Write(const ibv_mr& mr, uint32_t rkey) {
    a.Fill(0, "hello");
    ibv_sge sge = a.Sge(0, 5);
    ibv_send_wr write = Request(IBV_WR_RDMA_WRITE, &sge);
    write.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(mr.addr);
    write.wr.rdma.rkey = rkey;
    EXPECT_EQ(a.Post(qa, write), 0);
    return a.WaitStatus();
  }
};

// What ibv_reg_mr promises holds in a domain with a cache and in one without.
class MrEitherWayTest : public MrCacheTest, public ::testing::WithParamInterface<Keeping> {
 protected:
  [[nodiscard]] static bool is_off() { return GetParam() == Keeping::kNothing; }
  void SetUp() override {
    Connect();
    if (!is_off()) OpenCache(Cast(b.pd), WithCache());
  }
};
INSTANTIATE_TEST_SUITE_P(Caches, MrEitherWayTest, BothWays(), NameOfWay);

TEST_P(MrEitherWayTest, TheSameBytesAreRegisteredAgain) {
  for (int i = 0; i < 10; ++i) {
    ibv_mr* const mr = Register(64, 100);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(mr->length, 100U);
    EXPECT_EQ(Write(*mr, mr->rkey), IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
  }
  EXPECT_EQ(Seen().misses, is_off() ? 0U : 1U);
  EXPECT_EQ(Seen().hits_slow, is_off() ? 0U : 9U);
}

// A cached region must not stay open to peers.
TEST_P(MrEitherWayTest, AKeyIsRefusedAfterDeregMr) {
  ibv_mr* const mr = Register(64, 100);
  const ibv_mr copy = *mr;
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(Seen().entries, is_off() ? 0U : 1U);
  EXPECT_EQ(Write(copy, copy.rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(MrEitherWayTest, RegionsOfTheSameBytesHaveKeysOfTheirOwn) {
  ibv_mr* const one = Register(64, 100);
  ibv_mr* const two = Register(64, 100);
  EXPECT_NE(one->rkey, two->rkey);
  EXPECT_NE(one->lkey, two->lkey);
  const uint32_t key = one->rkey;
  EXPECT_EQ(ibv_dereg_mr(one), 0);
  EXPECT_EQ(Write(*two, two->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(Write(*two, key), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dereg_mr(two), 0);
}

TEST_P(MrEitherWayTest, RightsAreThoseOfTheLastRegistration) {
  EXPECT_EQ(ibv_dereg_mr(Register(64, 100)), 0);
  ibv_mr* const mr = Register(64, 100, IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(Seen().misses, is_off() ? 0U : 1U);
  EXPECT_EQ(Write(*mr, mr->rkey), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_P(MrEitherWayTest, AReregisteredRegionIsNotKept) {
  ibv_mr* const mr = Register(64, 100);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, b.bytes.data() + 512, 64, 0),
            0);
  EXPECT_EQ(Write(*mr, mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(512, 5), "hello");
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(Seen().entries, 0U);
}

TEST_P(MrEitherWayTest, PrefetchFindsTheRegion) {
  ibv_mr* const mr = Register(0, 4'096);
  ibv_sge sge{.addr = reinterpret_cast<uintptr_t>(mr->addr), .length = 64, .lkey = mr->lkey};
  EXPECT_EQ(ibv_advise_mr(b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
            0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(MrCacheTest, WindowsAndOtherAddressesAreNotCached) {
  Pd& pd = Cast(b.pd);
  const void* const at = b.bytes.data();
  const auto iova = reinterpret_cast<uintptr_t>(at);
  EXPECT_TRUE(IsCached(pd, at, 64, iova, kWritable));
  EXPECT_FALSE(IsCached(pd, at, 64, 0x1000, kWritable));
  EXPECT_FALSE(IsCached(pd, at, 0, iova, kWritable));
  EXPECT_FALSE(IsCached(pd, at, 64, iova, kWritable | IBV_ACCESS_MW_BIND));
  EXPECT_FALSE(IsCached(pd, at, 64, iova, kWritable | IBV_ACCESS_ON_DEMAND));
  EXPECT_FALSE(IsCached(Cast(a.pd), a.bytes.data(), 64, reinterpret_cast<uintptr_t>(a.bytes.data()),
                        kWritable))
      << "the domain has no cache";
}

TEST_P(MrEitherWayTest, BadFlagsAndUnmappedMemoryAreRefused) {
  EXPECT_EQ(Register(64, 100, IBV_ACCESS_REMOTE_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(b.pd, reinterpret_cast<void*>(4'096), 64, kWritable), nullptr);
  EXPECT_EQ(errno, EFAULT);
}

TEST_P(MrEitherWayTest, ADomainEndsWithItsUnusedRegions) {
  ibv_pd* const pd = ibv_alloc_pd(b.context);
  if (!is_off()) OpenCache(Cast(pd), WithCache());
  ibv_mr* const mr = ibv_reg_mr(pd, b.bytes.data(), 64, kWritable);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

// What `verbena cache` does.
TEST_F(MrCacheTest, TheTableIsReadThroughASocket) {
  ibv_mr* const mr = Register(64, 100);
  const std::string name = "verbena-cache-" + std::to_string(getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const FileDescriptor file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(file.get(), reinterpret_cast<const sockaddr*>(&address),
                    static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
            0);
  std::string report(65'536, '\0');
  const ssize_t got = recv(file.get(), report.data(), report.size(), MSG_WAITALL);
  ASSERT_GT(got, 0);
  report.resize(static_cast<size_t>(got));
  EXPECT_NE(report.find("registration cache misses: "), std::string::npos) << report;
  EXPECT_NE(report.find("  100  lkey 0x"), std::string::npos) << report;
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

}  // namespace
}  // namespace verbena::ibverbs
