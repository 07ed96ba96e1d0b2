#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include "ibverbs/newer_verbs.h"
#include "tests/support/ibverbs_end.h"

namespace verbena::ibverbs {
namespace {

constexpr int kWritable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

constexpr uint64_t Mask(std::initializer_list<MrInitMask> bits) {
  uint64_t mask = 0;
  for (const MrInitMask bit : bits) mask |= static_cast<uint64_t>(bit);
  return mask;
}

class BufferTest : public testing::VerbsPairTest {
 protected:
  void SetUp() override { Connect(); }

  int Write(uint64_t address, uint32_t rkey) {
    a.Fill(0, "hello");
    ibv_sge sge = a.Sge(0, 5);
    ibv_send_wr write = Request(IBV_WR_RDMA_WRITE, &sge);
    write.wr.rdma.remote_addr = address;
    write.wr.rdma.rkey = rkey;
    EXPECT_EQ(a.Post(qa, write), 0);
    return a.WaitStatus();
  }
  // The error number of the registration, or 0.
  int Register(const MrInitAttributes& attributes) {
    ibv_mr* const mr = RegisterMrEx(b.pd, &attributes);
    if (mr == nullptr) return errno;
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    return 0;
  }
};

TEST_F(BufferTest, APeerCanWriteIntoIt) {
  Buffer* buffer = nullptr;
  auto* const bytes = static_cast<char*>(AllocateBuffer(b.pd, 5'000, &buffer));
  ASSERT_NE(bytes, nullptr);
  ASSERT_NE(buffer, nullptr);
  ibv_mr* const mr = RegisterBuffer(b.pd, buffer, bytes + 100, 4'900, kWritable);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, bytes + 100);
  EXPECT_EQ(mr->length, 4'900U);
  EXPECT_EQ(Write(reinterpret_cast<uintptr_t>(bytes) + 4'995, mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(bytes + 4'995, "hello", 5), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  FreeBuffer(buffer);
  FreeBuffer(nullptr);
}

TEST_F(BufferTest, KeepsItsProtectionDomainInUse) {
  ibv_pd* const pd = ibv_alloc_pd(b.context);
  Buffer* buffer = nullptr;
  ASSERT_NE(AllocateBuffer(pd, 1, &buffer), nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  FreeBuffer(buffer);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(BufferTest, InvalidSizesAreRefused) {
  Buffer* buffer = nullptr;
  EXPECT_EQ(AllocateBuffer(b.pd, 0, &buffer), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(AllocateBuffer(b.pd, SIZE_MAX, &buffer), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(AllocateBuffer(b.pd, size_t{1} << 60, &buffer), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(buffer, nullptr);
}

TEST_F(BufferTest, ARegionStaysWithinItsBufferAndItsDomain) {
  Buffer* buffer = nullptr;
  auto* const bytes = static_cast<char*>(AllocateBuffer(b.pd, 5'000, &buffer));
  ASSERT_NE(bytes, nullptr);
  const auto refused = [&](ibv_pd* pd, void* address, size_t length) {
    errno = 0;
    return RegisterBuffer(pd, buffer, address, length, kWritable) == nullptr && errno == EINVAL;
  };
  EXPECT_TRUE(refused(b.pd, bytes, 5'001));
  EXPECT_TRUE(refused(b.pd, bytes + 1, 5'000));
  EXPECT_TRUE(refused(b.pd, bytes - 1, 10));
  EXPECT_TRUE(refused(b.pd, bytes + 6'000, 10));
  EXPECT_TRUE(refused(b.pd, bytes, SIZE_MAX));
  EXPECT_TRUE(refused(a.pd, bytes, 5'000));
  FreeBuffer(buffer);
}

TEST_F(BufferTest, ARegionIsDescribedByAStructure) {
  const MrInitAttributes plain{.length = 4'096,
                               .access = kWritable,
                               .comp_mask = Mask({MrInitMask::kAddress}),
                               .address = b.bytes.data()};
  ibv_mr* mr = RegisterMrEx(b.pd, &plain);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(Write(reinterpret_cast<uintptr_t>(b.bytes.data()) + 64, mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(64, 5), "hello");
  EXPECT_EQ(ibv_dereg_mr(mr), 0);

  MrInitAttributes moved = plain;
  moved.comp_mask = Mask({MrInitMask::kAddress, MrInitMask::kIova});
  moved.iova = 0x10000;
  mr = RegisterMrEx(b.pd, &moved);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(Write(0x10000 + 128, mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(b.Text(128, 5), "hello");
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(BufferTest, InvalidStructuresAreRefused) {
  const auto with = [&](std::initializer_list<MrInitMask> bits) {
    return MrInitAttributes{
        .length = 4'096, .access = kWritable, .comp_mask = Mask(bits), .address = b.bytes.data()};
  };
  EXPECT_EQ(Register(with({})), EINVAL);
  EXPECT_EQ(Register(with({MrInitMask::kAddress, MrInitMask::kFd})), EINVAL);
  EXPECT_EQ(Register(with({MrInitMask::kAddress, MrInitMask::kBuffer})), EINVAL);
  EXPECT_EQ(Register(with({MrInitMask::kFd, MrInitMask::kBuffer})), EINVAL);
  EXPECT_EQ(Register(with({MrInitMask::kFd})), EOPNOTSUPP);
  EXPECT_EQ(Register(with({MrInitMask::kAddress, MrInitMask::kDmah})), EOPNOTSUPP);
  MrInitAttributes unknown = with({MrInitMask::kAddress});
  unknown.comp_mask |= 1 << 20;
  EXPECT_EQ(Register(unknown), EOPNOTSUPP);
}

TEST_F(BufferTest, AStructureMayNameABuffer) {
  Buffer* buffer = nullptr;
  MrInitAttributes attributes{.length = 5'000, .access = kWritable};
  attributes.address = AllocateBuffer(b.pd, 5'000, &buffer);
  attributes.buffer = buffer;
  attributes.comp_mask = Mask({MrInitMask::kAddress, MrInitMask::kBuffer});
  EXPECT_EQ(Register(attributes), 0);
  attributes.length = 5'001;
  EXPECT_EQ(Register(attributes), EINVAL);
  FreeBuffer(buffer);
}

TEST_F(BufferTest, ThePortHasASpeed) {
  uint64_t speed = 0;
  EXPECT_EQ(QueryPortSpeed(b.context, 1, &speed), 0);
  EXPECT_EQ(speed, 1'000U);  // 100 Gbit/s, as ibv_query_port says
  EXPECT_EQ(QueryPortSpeed(b.context, 2, &speed), EINVAL);
}

}  // namespace
}  // namespace verbena::ibverbs
