#include "verbena/memory_region.h"

#include <sys/mman.h>

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

class MemoryRegionTest : public VerbsPairTest {
 protected:
  std::optional<CompletionStatus> WriteTo(const RemoteAddress& remote, uint32_t length = 64) {
    EXPECT_TRUE(qa_.Post(Write{.data = a_.region.Local(0, length), .remote = remote}));
    return a_.WaitStatus();
  }
};

TEST_F(MemoryRegionTest, GrantsItsAccessRightsOnly) {
  a_.Fill(0, 64, 3);
  EXPECT_EQ(WriteTo(b_.region.Remote(100)), CompletionStatus::kSuccess);
  EXPECT_TRUE(b_.Holds(100, 64, 3));
  const MemoryRegion read_only =
      Good(MemoryRegion::Register(b_.domain, b_.memory, Access::kLocal | Access::kRemoteRead));
  EXPECT_EQ(WriteTo(read_only.Remote()), CompletionStatus::kRemoteAccessError);
}

TEST_F(MemoryRegionTest, EndsWithItsHandle) {
  const RemoteAddress stale = b_.region.Remote();
  b_.region = {};
  EXPECT_EQ(b_.region.r_key(), Key{});
  EXPECT_EQ(b_.region.length(), 0U);
  EXPECT_EQ(WriteTo(stale), CompletionStatus::kRemoteAccessError);
}

TEST_F(MemoryRegionTest, StartsAtTheGivenAddress) {
  const MemoryRegion zero =
      Good(MemoryRegion::Register(b_.domain, b_.memory, Access::kAll, {.zero_based = true}));
  EXPECT_EQ(zero.start(), 0U);
  a_.Fill(0, 64, 9);
  EXPECT_EQ(WriteTo(zero.Remote(7)), CompletionStatus::kSuccess);
  EXPECT_TRUE(b_.Holds(7, 64, 9));
  const MemoryRegion elsewhere =
      Good(MemoryRegion::Register(b_.domain, b_.memory, Access::kAll, {.start = 0x1000}));
  EXPECT_EQ(WriteTo({0x1000 + 300, elsewhere.r_key()}), CompletionStatus::kSuccess);
  EXPECT_TRUE(b_.Holds(300, 64, 9));
}

TEST_F(MemoryRegionTest, AOneTouchRegionEndsWithItsFirstMessage) {
  const MemoryRegion once =
      Good(MemoryRegion::Register(b_.domain, b_.memory, Access::kAll, {.one_touch = true}));
  EXPECT_EQ(WriteTo(once.Remote()), CompletionStatus::kSuccess);
  EXPECT_EQ(WriteTo(once.Remote()), CompletionStatus::kRemoteAccessError);
}

TEST_F(MemoryRegionTest, CanHaveSeparateLocalAndRemoteKeys) {
  const MemoryRegion two =
      Good(MemoryRegion::Register(b_.domain, b_.memory, Access::kAll, {.distinct_keys = true}));
  EXPECT_NE(two.l_key(), two.r_key());
  EXPECT_EQ(WriteTo(two.Remote()), CompletionStatus::kSuccess);
  EXPECT_EQ(WriteTo({two.start(), two.l_key()}), CompletionStatus::kRemoteAccessError);
}

TEST_F(MemoryRegionTest, TheImplicitRegionReachesAllMemory) {
  const MemoryRegion all = Good(MemoryRegion::RegisterEverything(b_.domain, Access::kAll));
  uint64_t far[8] = {};
  a_.Fill(0, 64, 1);
  EXPECT_EQ(WriteTo({reinterpret_cast<uintptr_t>(far), all.r_key()}), CompletionStatus::kSuccess);
  EXPECT_EQ(std::memcmp(far, a_.memory.data(), sizeof far), 0);
}

TEST_F(MemoryRegionTest, APageListIsContiguousForPeers) {
  constexpr size_t kPage = 4'096;
  auto* const pages = static_cast<std::byte*>(
      mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const auto at = reinterpret_cast<uintptr_t>(pages);
  const uint64_t list[] = {at + 3 * kPage, at};
  const MemoryRegion region =
      Good(MemoryRegion::RegisterPages(b_.domain, {.pages = list, .first_offset = kPage - 32}, 64,
                                       Access::kAll, {.zero_based = true}));
  a_.Fill(0, 64, 5);
  EXPECT_EQ(WriteTo(region.Remote()), CompletionStatus::kSuccess);
  EXPECT_EQ(std::memcmp(pages + 4 * kPage - 32, a_.memory.data(), 32), 0);
  EXPECT_EQ(std::memcmp(pages, a_.memory.data() + 32, 32), 0);
  EXPECT_EQ(CodeOf(MemoryRegion::RegisterPages(b_.domain, {.pages = list, .page_shift = 11}, 64,
                                               Access::kAll)),
            ErrorCode::kInvalid);
  munmap(pages, 4 * kPage);
}

TEST_F(MemoryRegionTest, CanShareItsTranslation) {
  const MemoryRegion shared =
      Good(MemoryRegion::Share(b_.domain, b_.region, Access::kLocal | Access::kRemoteWrite));
  EXPECT_NE(shared.r_key(), b_.region.r_key());
  a_.Fill(0, 64, 8);
  EXPECT_EQ(WriteTo(shared.Remote(64)), CompletionStatus::kSuccess);
  EXPECT_TRUE(b_.Holds(64, 64, 8));
  EXPECT_EQ(CodeOf(MemoryRegion::Share(a_.domain, b_.region, Access::kAll)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(MemoryRegion::Share(b_.domain, {}, Access::kAll)), ErrorCode::kInvalid);
}

TEST_F(MemoryRegionTest, CanBeReregistered) {
  const Key old = b_.region.r_key();
  std::vector<std::byte> other(128);
  Good(b_.region.Reregister({.bytes = other}));
  EXPECT_NE(b_.region.r_key(), old);
  EXPECT_EQ(b_.region.length(), 128U);
  EXPECT_EQ(WriteTo(b_.region.Remote()), CompletionStatus::kSuccess);
  const Key kept = b_.region.r_key();
  Good(b_.region.Reregister({.access = Access::kAll, .keep_keys = true}));
  EXPECT_EQ(b_.region.r_key(), kept);
  Good(b_.region.Reregister({.access = Access::kLocal}));
  EXPECT_NE(b_.region.r_key(), kept);
  EXPECT_EQ(WriteTo(b_.region.Remote()), CompletionStatus::kRemoteAccessError);
  const ProtectionDomain second = Good(ProtectionDomain::Allocate(b_.context));
  Good(b_.region.Reregister({.domain = &second}));
  EXPECT_EQ(CodeOf(b_.region.Reregister({.domain = &a_.domain})), ErrorCode::kInvalid);
  const ProtectionDomain none;
  EXPECT_EQ(CodeOf(b_.region.Reregister({.domain = &none})), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(MemoryRegion{}.Reregister({})), ErrorCode::kInvalid);
}

TEST_F(MemoryRegionTest, CanBeRegisteredByWorkRequest) {
  constexpr size_t kPage = 4'096;
  auto* const page = static_cast<std::byte*>(
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const uint64_t list[] = {reinterpret_cast<uintptr_t>(page)};
  MemoryRegion reserved = Good(MemoryRegion::Reserve(b_.domain, 4));
  Key key = reserved.r_key();
  a_.Fill(0, 64, 2);
  for (int life = 0; life < 3; ++life) {
    ASSERT_TRUE(qb_.Post(Register{.registration = {.key = key,
                                                   .pages = list,
                                                   .length = kPage,
                                                   .access = Access::kAll,
                                                   .zero_based = true}}));
    ASSERT_EQ(b_.WaitStatus(), CompletionStatus::kSuccess);
    EXPECT_EQ(WriteTo({128, key}), CompletionStatus::kSuccess);
    EXPECT_EQ(std::memcmp(page + 128, a_.memory.data(), 64), 0);
    ASSERT_TRUE(qb_.Post(Invalidate{.key = key}));
    ASSERT_EQ(b_.WaitStatus(), CompletionStatus::kSuccess);
    key = NextKey(key);
  }
  // Works although the key variant is no longer the one that was reserved.
  Good(reserved.Destroy());
  munmap(page, kPage);
  EXPECT_EQ(CodeOf(MemoryRegion::Reserve(b_.domain, 100'000)), ErrorCode::kLimit);
  EXPECT_EQ(CodeOf(MemoryRegion::Reserve(b_.domain, 1, 40)), ErrorCode::kInvalid);
}

TEST_F(MemoryRegionTest, RefusesRegistrationByWorkRequestIfDisabled) {
  QpSpec spec = b_.Spec();
  spec.registration = RegistrationMode::kDisabled;
  qb_ = Good(QueuePair::Create(b_.domain, spec));
  qa_ = a_.MakeQp();
  ConnectPair(a_, qa_, b_, qb_);
  const MemoryRegion reserved = Good(MemoryRegion::Reserve(b_.domain, 4));
  ASSERT_TRUE(qb_.Post(Register{.registration = {.key = reserved.r_key()}}));
  EXPECT_EQ(b_.WaitStatus(), CompletionStatus::kLocalQpOperationError);
}

TEST_F(MemoryRegionTest, RefusesInvalidArguments) {
  EXPECT_EQ(
      CodeOf(MemoryRegion::Register(
          b_.domain, std::span<std::byte>(static_cast<std::byte*>(nullptr), 8), Access::kAll)),
      ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(MemoryRegion::Register(b_.domain, b_.memory, Access::kRemoteWrite)),
            ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(MemoryRegion{}.Destroy()), ErrorCode::kInvalid);
  Good(MemoryRegion::Register(b_.domain, {}, Access::kLocal));
}

using NullRegionTest = VerbsPairTest;

TEST_F(NullRegionTest, ReadsZerosAndDiscardsWrites) {
  const MemoryRegion null = Good(MemoryRegion::RegisterNull(a_.domain));
  b_.Fill(0, 10'000, 3);
  ASSERT_TRUE(qa_.Post(Read{.data = null.Local(0x5000, 10'000), .remote = b_.region.Remote(0)}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
  ASSERT_TRUE(qa_.Post(Write{.data = null.Local(0x5000, 9'000), .remote = b_.region.Remote(500)}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kSuccess);
  for (size_t i = 500; i < 9'500; ++i) ASSERT_EQ(b_.memory[i], std::byte{0}) << i;
  EXPECT_TRUE(b_.Holds(0, 500, 3));
}

TEST_F(NullRegionTest, GrantsNothingToPeers) {
  const MemoryRegion null = Good(MemoryRegion::RegisterNull(b_.domain));
  ASSERT_TRUE(qa_.Post(Read{.data = a_.region.Local(0, 8), .remote = {0x5000, null.r_key()}}));
  EXPECT_EQ(a_.WaitStatus(), CompletionStatus::kRemoteAccessError);
}

TEST_F(NullRegionTest, AcceptsAdviceWithoutEffect) {
  const MemoryRegion null = Good(MemoryRegion::RegisterNull(a_.domain));
  Good(null.Advise(0, UINT64_MAX, Advice::kPrefetchWrite, true));
}

TEST(AdviseTest, ChecksItsArguments) {
  VerbsNode node;
  const Range ranges[] = {{0, 100}, {4'096, 8'192}};
  Good(node.region.Advise(ranges, Advice::kPrefetchWrite, true));
  Good(node.region.Advise(0, 1 << 16, Advice::kPrefetchNoFault, false));
  EXPECT_EQ(CodeOf(node.region.Advise(1, 1 << 16, Advice::kPrefetch, true)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(node.region.Advise(0, 1, static_cast<Advice>(3), true)), ErrorCode::kInvalid);
  EXPECT_EQ(CodeOf(MemoryRegion{}.Advise(0, 1, Advice::kPrefetch, true)), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace verbena
