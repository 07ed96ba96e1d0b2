// What holds with a cache, and with one that releases immediately: the same tests, both ways.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/cache_ways.h"
#include "tests/support/fake_backend.h"
#include "verbena/registration_cache.h"

namespace verbena {
namespace {

constexpr uint64_t kPage = 4'096;
constexpr Access kRead = Access::kLocalRead;
constexpr Access kWrite = Access::kLocal;
constexpr Access kPeer = Access::kLocal | Access::kRemoteWrite;

const void* At(uint64_t address) { return reinterpret_cast<const void*>(address); }

class EitherWayTest : public testing::TestWithParam<Keeping> {
 protected:
  [[nodiscard]] static bool is_off() { return GetParam() == Keeping::kNothing; }
  RegistrationCache& Make(CacheOptions options = {}) {
    cache_ = RegistrationCache::Create(std::make_unique<FakeBackend>(state_),
                                       With(GetParam(), std::move(options)))
                 .value();
    return cache_;
  }
  CachedRegion Acquire(uint64_t address, uint64_t length, Access access = kRead) {
    return cache_.Acquire(At(address), length, access).value();
  }
  // What was released is registered, or not.
  void ExpectKept(size_t count) { EXPECT_EQ(state_->count(), is_off() ? 0 : count); }
  void TearDown() override {
    cache_ = {};
    EXPECT_EQ(state_->count(), 0U);
    EXPECT_EQ(state_->registered, state_->deregistered);
  }

  std::shared_ptr<FakeBackend::State> state_ = std::make_shared<FakeBackend::State>();
  RegistrationCache cache_;
};

INSTANTIATE_TEST_SUITE_P(Caches, EitherWayTest, BothWays(), NameOfWay);

TEST_P(EitherWayTest, AHandleHasItsBytesAndRights) {
  Make();
  for (int i = 0; i < 3; ++i) {
    for (const Access access : {kRead, kWrite, kPeer}) {
      const CachedRegion region = Acquire(0x10010, 20, access);
      const FakeBackend::Made made = state_->Find(region.l_key());
      EXPECT_TRUE(made.access.Has(access));
      EXPECT_LE(made.range.address, 0x10010U);
      EXPECT_GE(made.range.address + made.range.length, 0x10024U);
    }
  }
  EXPECT_EQ(state_->registered, is_off() ? 9U : 2U);
  ExpectKept(2);
}

TEST_P(EitherWayTest, NothingInUseEnds) {
  Make({.entries_max = 4, .bytes_max = 2 * kPage});
  CachedRegion left = Acquire(0x10000, 2 * kPage, kRead);
  const CachedRegion right = Acquire(0x11000, 2 * kPage, kWrite);
  for (uint64_t i = 0; i < 8; ++i) Acquire(0x100000 * (i + 1), kPage).Release();
  cache_.Announce(At(0x10000), 3 * kPage);
  cache_.Collect(true);
  EXPECT_NE(state_->Find(left.l_key()).range.length, 0U);
  EXPECT_NE(state_->Find(right.l_key()).range.length, 0U);
  EXPECT_EQ(state_->count(), 2U);
  left.Release();
  EXPECT_EQ(state_->count(), 1U) << "it was announced";
}

TEST_P(EitherWayTest, AReleasedRemoteKeyIsRefused) {
  Make();
  CachedRegion region = Acquire(0x10010, 20, kPeer);
  const Key old = region.r_key();
  region.Release();
  EXPECT_EQ(state_->Find(old).range.length, 0U);
  ExpectKept(1);
  EXPECT_NE(Acquire(0x10010, 20, kPeer).r_key(), old);
}

TEST_P(EitherWayTest, NothingFromBeforeAnAnnouncementIsFound) {
  Make();
  state_->argument = &cache_;
  state_->on_register = [](void* cache) {
    static_cast<RegistrationCache*>(cache)->Announce(At(0x10000), 1);
  };
  const CachedRegion region = Acquire(0x10000, kPage);
  state_->on_register = nullptr;
  EXPECT_NE(Acquire(0x10000, kPage).l_key(), region.l_key());
  cache_.Announce(At(0x10000), 1);
  EXPECT_EQ(state_->Find(Acquire(0x10000, kPage).l_key()).at, 3U);
}

TEST_P(EitherWayTest, TheNumberOfEntriesIsLimited) {
  Make({.entries_max = 4});
  std::vector<CachedRegion> held;
  for (uint64_t i = 0; i < 4; ++i) held.push_back(Acquire(0x10000 * (i + 1), kPage));
  const auto refused = cache_.Acquire(At(0x90000), kPage, kRead);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  held.pop_back();
  EXPECT_TRUE(cache_.Acquire(At(0x90000), kPage, kRead));
}

TEST_P(EitherWayTest, AChildOfAForkUsesNothing) {
  Make();
  CachedRegion region = Acquire(0x10000, kPage);
  const pid_t child = fork();
  if (child == 0) {
    const auto acquired = cache_.Acquire(At(0x10000), kPage, kRead);
    const bool is_refused = !acquired && acquired.error().code == ErrorCode::kForked;
    region.Release();
    cache_ = {};
    _exit(is_refused && state_->deregistered == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(cache_.Acquire(At(0x10000), kPage, kRead));
}

TEST_P(EitherWayTest, ExclusiveHandlesHaveRegistrationsOfTheirOwn) {
  Make({.exclusive = true});
  CachedRegion one = Acquire(0x10010, 20, kRead);
  const CachedRegion two = Acquire(0x10010, 20, kRead);
  EXPECT_NE(one.l_key(), two.l_key());
  EXPECT_EQ(state_->Find(one.l_key()).range, (MemoryRange{0x10010, 20}));
  const Key key = one.l_key();
  one.Release();
  EXPECT_EQ(state_->Find(key).range.length, 0U) << "a released key is valid";
}

TEST_P(EitherWayTest, ABackendThatRunsOutOfMemoryLeavesNothingBehind) {
  Make();
  state_->has_no_memory = true;
  EXPECT_FALSE(cache_.Acquire(At(0x10000), 1, kRead));
  EXPECT_EQ(cache_.Query(), CacheStatistics{});
  state_->has_no_memory = false;
  EXPECT_TRUE(cache_.Acquire(At(0x10000), 1, kRead));
}

TEST_P(EitherWayTest, RegistrationsCoexistIfTheyCannotBeMerged) {
  Make();
  const CachedRegion left = Acquire(0x10000, 2 * kPage);
  state_->length_max = 2 * kPage;
  const CachedRegion right = Acquire(0x11000, 2 * kPage);
  EXPECT_EQ(state_->count(), 2U);
  EXPECT_EQ(cache_.Query().merges, 0U);
  EXPECT_EQ(cache_.Query().misses, 2U);
}

TEST_P(EitherWayTest, ARefusalChangesNothing) {
  Make();
  state_->refused = Access::kLocalWrite;
  EXPECT_EQ(cache_.Acquire(At(0x10000), 10, kWrite).error().code, ErrorCode::kSystem);
  EXPECT_EQ(cache_.Query(), CacheStatistics{});
  EXPECT_TRUE(cache_.List().empty());
  EXPECT_EQ(cache_.Acquire(At(0x10000), 0, kWrite).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(cache_.Acquire(At(~uint64_t{0}), 2, kWrite).error().code, ErrorCode::kInvalid);
}

TEST_P(EitherWayTest, PeersGetExactlyTheBytesThatWereAskedFor) {
  Make();
  const CachedRegion region = Acquire(0x10010, 20, kPeer);
  EXPECT_EQ(state_->Find(region.r_key()).range, (MemoryRange{0x10010, 20}));
  const CachedRegion part = Acquire(0x10012, 4, kPeer);
  EXPECT_NE(part.r_key(), region.r_key());
  const CachedRegion local = Acquire(0x10012, 4, kRead);
  EXPECT_NE(local.l_key(), region.l_key());
}

TEST_P(EitherWayTest, EveryHandleHasARemoteKeyOfItsOwn) {
  Make();
  const CachedRegion one = Acquire(0x10010, 20, kPeer);
  const CachedRegion two = Acquire(0x10010, 20, kPeer);
  EXPECT_NE(one.r_key(), two.r_key());
}

TEST_P(EitherWayTest, HandlesCanBeMovedAndOutliveTheCache) {
  Make();
  CachedRegion region = Acquire(0x10000, kPage);
  CachedRegion moved = std::move(region);
  EXPECT_FALSE(region);
  EXPECT_TRUE(moved);
  cache_ = {};
  EXPECT_EQ(state_->count(), 1U);
  moved.Release();
  EXPECT_EQ(state_->count(), 0U);
}

}  // namespace
}  // namespace verbena
