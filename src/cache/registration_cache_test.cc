#include "verbena/registration_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/fake_backend.h"

namespace verbena {
namespace {

constexpr uint64_t kPage = 4'096;
constexpr Access kRead = Access::kLocalRead;
constexpr Access kWrite = Access::kLocal;
constexpr Access kPeer = Access::kLocal | Access::kRemoteWrite;

const void* At(uint64_t address) { return reinterpret_cast<const void*>(address); }

class RegistrationCacheTest : public testing::Test {
 protected:
  RegistrationCache& Make(const CacheOptions& options = {}) {
    cache_ = RegistrationCache::Create(std::make_unique<FakeBackend>(state_), options).value();
    return cache_;
  }
  CachedRegion Acquire(uint64_t address, uint64_t length, Access access = kRead) {
    return cache_.Acquire(At(address), length, access).value();
  }
  void TearDown() override {
    cache_ = {};
    EXPECT_EQ(state_->count(), 0U);
  }

  std::shared_ptr<FakeBackend::State> state_ = std::make_shared<FakeBackend::State>();
  RegistrationCache cache_;
};

TEST_F(RegistrationCacheTest, RegistersOnceAndKeepsIt) {
  Make();
  Key key;
  for (int i = 0; i < 10; ++i) {
    const CachedRegion region = Acquire(0x10000, 100);
    if (i == 0) key = region.l_key();
    EXPECT_EQ(region.l_key(), key);
  }
  EXPECT_EQ(state_->registered, 1U);
  const CacheStatistics seen = cache_.Query();
  EXPECT_EQ(seen.misses, 1U);
  EXPECT_EQ(seen.hits_fast, 9U);
  EXPECT_EQ(seen.hits_slow, 0U);
  EXPECT_EQ(seen.entries, 1U);
  EXPECT_EQ(seen.bytes, kPage);
}

TEST_F(RegistrationCacheTest, LocalRequestsShareWholePages) {
  Make();
  const CachedRegion whole = Acquire(0x10000, 3 * kPage);
  const CachedRegion part = Acquire(0x11008, 16);
  EXPECT_EQ(part.l_key(), whole.l_key());
  EXPECT_EQ(cache_.Query().hits_slow, 1U);
  const CachedRegion again = Acquire(0x11108, 16);
  EXPECT_EQ(cache_.Query().hits_fast, 1U);
  EXPECT_EQ(state_->registered, 1U);
}

TEST_F(RegistrationCacheTest, OverlappingRequestsMergeAndNothingInUseEnds) {
  Make();
  CachedRegion left = Acquire(0x10000, 2 * kPage, kRead);
  const Key left_key = left.l_key();
  const CachedRegion right = Acquire(0x11000, 2 * kPage, kWrite);
  EXPECT_EQ(state_->Find(right.l_key()).range, (MemoryRange{0x10000, 3 * kPage}));
  EXPECT_EQ(state_->Find(right.l_key()).access, kWrite);
  EXPECT_EQ(cache_.Query().merges, 1U);
  EXPECT_NE(state_->Find(left_key).range.length, 0U) << "deregistered while in use";
  left.Release();
  EXPECT_EQ(state_->Find(left_key).range.length, 0U);
  EXPECT_EQ(Acquire(0x10000, kPage, kRead).l_key(), right.l_key());
}

TEST_F(RegistrationCacheTest, MoreRightsAreGivenInPlaceIfItIsNotInUse) {
  Make();
  const Key before = Acquire(0x10000, kPage, kRead).l_key();
  const CachedRegion region = Acquire(0x10000, kPage, kWrite);
  EXPECT_NE(region.l_key(), before);
  EXPECT_EQ(state_->registered, 1U);
  EXPECT_EQ(cache_.Query().changes, 1U);
  EXPECT_EQ(state_->Find(region.l_key()).access, kWrite);
}

TEST_F(RegistrationCacheTest, ARefusedChangeLeavesTheOldRights) {
  Make();
  const Key before = Acquire(0x10000, kPage, kRead).l_key();
  state_->refused = Access::kLocalWrite;
  EXPECT_FALSE(cache_.Acquire(At(0x10000), kPage, kWrite));
  EXPECT_EQ(Acquire(0x10000, kPage, kRead).l_key(), before);
}

// A merged registration would open local bytes to peers, or end what a peer uses.
TEST_F(RegistrationCacheTest, LocalRequestsDoNotMergeWithRemoteOnes) {
  Make({.released_remote_key = ReleasedRemoteKey::kKept});
  const CachedRegion peer = Acquire(0x10000, 2 * kPage, kPeer);
  const CachedRegion local = Acquire(0x10000 + kPage, 2 * kPage, kWrite);
  EXPECT_EQ(state_->Find(local.l_key()).access, kWrite);
  EXPECT_EQ(state_->Find(local.l_key()).range, (MemoryRange{0x10000 + kPage, 2 * kPage}));
  EXPECT_EQ(Acquire(0x10000, 2 * kPage, kPeer).r_key(), peer.r_key());
  EXPECT_EQ(cache_.Query().merges, 0U);
}

TEST_F(RegistrationCacheTest, AReleasedRemoteKeyIsRefused) {
  Make();
  CachedRegion region = Acquire(0x10010, 20, kPeer);
  const Key old = region.r_key();
  region.Release();
  EXPECT_EQ(state_->Find(old).range.length, 0U);
  ASSERT_EQ(cache_.List().size(), 1U);
  EXPECT_EQ(cache_.List()[0].status, CacheEntryStatus::kParked);
  EXPECT_FALSE(state_->Find(cache_.List()[0].r_key).access.HasAny(Access::kRemote));
  region = Acquire(0x10010, 20, kPeer);
  EXPECT_NE(region.r_key(), old);
  EXPECT_EQ(state_->registered, 1U) << "the registration was not used again";
  EXPECT_EQ(cache_.Query().changes, 2U);
}

TEST_F(RegistrationCacheTest, WithoutRekeyAReleasedRemoteKeyIsDeregistered) {
  state_->can_rekey = false;
  Make();
  Acquire(0x10010, 20, kPeer).Release();
  EXPECT_EQ(state_->count(), 0U);
  Acquire(0x20000, 20, kRead).Release();
  EXPECT_EQ(state_->Find(Acquire(0x20000, 20, kWrite).l_key()).access, kWrite);
}

TEST_F(RegistrationCacheTest, RemoteKeysStayIfTheProgramTrustsItsPeers) {
  Make({.released_remote_key = ReleasedRemoteKey::kKept});
  const Key key = Acquire(0x10010, 20, kPeer).r_key();
  EXPECT_EQ(Acquire(0x10010, 20, kPeer).r_key(), key);
  EXPECT_NE(Acquire(0x10010, 16, kPeer).r_key(), key);
  EXPECT_NE(Acquire(0x10010, 20, kPeer | Access::kRemoteRead).r_key(), key);
  EXPECT_EQ(cache_.Query().hits_fast, 1U);
}

TEST_F(RegistrationCacheTest, AnnouncedMemoryIsNotFoundAnyMore) {
  Make();
  const Key first = Acquire(0x10000, kPage).l_key();
  const Key other = Acquire(0x20000, kPage).l_key();
  const Key peer = Acquire(0x10000, 8, kPeer).r_key();
  cache_.Announce(At(0x10ff8), 8);
  const CachedRegion again = Acquire(0x10000, kPage);
  EXPECT_NE(again.l_key(), first);
  EXPECT_EQ(Acquire(0x20000, kPage).l_key(), other);
  EXPECT_EQ(cache_.Query().invalidations, 1U) << "the last bytes only";
  cache_.Announce(At(0x10004), 1);
  EXPECT_NE(Acquire(0x10000, 8, kPeer).r_key(), peer);
  EXPECT_EQ(cache_.Query().invalidations, 3U);
}

TEST_F(RegistrationCacheTest, AnnouncedMemoryInUseEndsWithItsLastRelease) {
  Make();
  CachedRegion one = Acquire(0x10000, kPage);
  CachedRegion two = Acquire(0x10000, kPage);
  cache_.Announce(At(0x10000), 1);
  cache_.Collect();
  ASSERT_EQ(cache_.List().size(), 1U);
  EXPECT_EQ(cache_.List()[0].status, CacheEntryStatus::kDetached);
  EXPECT_EQ(cache_.List()[0].handles, 2U);
  one.Release();
  EXPECT_EQ(state_->count(), 1U);
  two.Release();
  EXPECT_EQ(state_->count(), 0U);
}

TEST_F(RegistrationCacheTest, MemoryAnnouncedWhileItIsRegisteredIsNotKept) {
  Make();
  state_->argument = &cache_;
  state_->on_register = [](void* cache) {
    static_cast<RegistrationCache*>(cache)->Announce(At(0x10000), 1);
  };
  CachedRegion region = Acquire(0x10000, kPage);
  state_->on_register = nullptr;
  EXPECT_NE(Acquire(0x10000, kPage).l_key(), region.l_key());
  region.Release();
  EXPECT_EQ(state_->count(), 1U);
}

TEST_F(RegistrationCacheTest, WithoutRoomForAnnouncementsNothingIsTrusted) {
  Make();
  const Key key = Acquire(0x10000, kPage).l_key();
  for (uint64_t i = 0; i < 1'000; ++i) cache_.Announce(At(0x900000 + i), 1);
  EXPECT_NE(Acquire(0x10000, kPage).l_key(), key);
  EXPECT_EQ(Acquire(0x10000, kPage).l_key(), Acquire(0x10000, kPage).l_key());
}

TEST_F(RegistrationCacheTest, FixedPagesAreKeptOnlyIfChangesAreNoticed) {
  state_->follows_mappings = false;
  Make({.use_userfaultfd = false});
  Acquire(0x10000, kPage).Release();
  EXPECT_EQ(state_->count(), 0U);
  Make({.use_userfaultfd = false, .announces = true});
  Acquire(0x10000, kPage).Release();
  EXPECT_EQ(state_->count(), 1U);
}

TEST_F(RegistrationCacheTest, ReleasesImmediatelyIfAskedTo) {
  Make({.release_immediately = true});
  for (const Access access : {kRead, kPeer}) {
    CachedRegion region = Acquire(0x10000, kPage, access);
    EXPECT_EQ(state_->count(), 1U);
    region.Release();
    EXPECT_EQ(state_->count(), 0U);
  }
}

TEST_F(RegistrationCacheTest, TheNumberOfEntriesIsLimited) {
  Make({.entries_max = 4});
  std::vector<CachedRegion> held;
  for (uint64_t i = 0; i < 4; ++i) held.push_back(Acquire(0x10000 * (i + 1), kPage));
  const auto refused = cache_.Acquire(At(0x90000), kPage, kRead);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  held.pop_back();
  EXPECT_TRUE(cache_.Acquire(At(0x90000), kPage, kRead));
  EXPECT_EQ(cache_.Query().evictions, 1U);
  EXPECT_EQ(state_->count(), 4U);
}

TEST_F(RegistrationCacheTest, TheNumberOfBytesIsLimitedForWhatIsNotInUse) {
  Make({.bytes_max = 4 * kPage});
  const CachedRegion held = Acquire(0x10000, 3 * kPage);
  for (uint64_t i = 0; i < 8; ++i) Acquire(0x100000 * (i + 1), kPage).Release();
  EXPECT_LE(cache_.Query().bytes, 4 * kPage);
  EXPECT_GE(cache_.Query().evictions, 6U);
  Acquire(0x10000000, 4 * kPage).Release();
  EXPECT_EQ(cache_.Query().bytes, 3 * kPage) << "more than the limit, so it was not kept";
}

TEST_F(RegistrationCacheTest, WhatIsOldAndNotInUseIsCollected) {
  Make({.age_max = std::chrono::milliseconds(20)});
  const CachedRegion held = Acquire(0x10000, kPage);
  Acquire(0x20000, kPage).Release();
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  cache_.Collect();
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  cache_.Collect();
  EXPECT_EQ(cache_.Query().expirations, 1U);
  EXPECT_EQ(state_->count(), 1U);
  cache_.Collect(true);
  EXPECT_EQ(state_->count(), 1U) << "in use";
}

TEST_F(RegistrationCacheTest, WhatIsOldIsCollectedByLaterMisses) {
  Make({.age_max = std::chrono::milliseconds(20)});
  for (uint64_t i = 1; i <= 20; ++i) Acquire(0x10000 * i, kPage).Release();
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  for (uint64_t i = 1; i <= 10; ++i) Acquire(0x1000000 * i, kPage).Release();
  EXPECT_EQ(cache_.Query().expirations, 20U);
}

TEST_F(RegistrationCacheTest, TheTableIsListed) {
  Make();
  const CachedRegion held = Acquire(0x10000, kPage, kWrite);
  Acquire(0x20008, 16, kRead).Release();
  const auto list = cache_.List();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[held.number()].number, held.number());
  EXPECT_EQ(list[held.number()].status, CacheEntryStatus::kInUse);
  EXPECT_EQ(list[held.number()].l_key, held.l_key());
  EXPECT_EQ(list[1].status, CacheEntryStatus::kKept);
  EXPECT_EQ(ToString(list[1]), "1  0x20000  4096  lkey 0x2  rkey 0x2  kept  0  local read");
}

TEST_F(RegistrationCacheTest, AChildOfAForkUsesNothing) {
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
  EXPECT_EQ(Acquire(0x10000, kPage).l_key(), region.l_key());
}

TEST_F(RegistrationCacheTest, ExclusiveHandlesHaveRegistrationsOfTheirOwn) {
  Make({.exclusive = true});
  CachedRegion one = Acquire(0x10010, 20, kRead);
  CachedRegion two = Acquire(0x10010, 20, kRead);
  EXPECT_NE(one.l_key(), two.l_key());
  EXPECT_EQ(state_->Find(one.l_key()).range, (MemoryRange{0x10010, 20}));
  const Key key = one.l_key();
  one.Release();
  EXPECT_EQ(state_->Find(key).range.length, 0U) << "a released key is valid";
  EXPECT_NE(Acquire(0x10010, 20, kRead).l_key(), key);
  EXPECT_EQ(state_->Find(Acquire(0x10010, 20, kWrite).l_key()).access, kWrite);
  EXPECT_EQ(state_->registered, 2U);
  Acquire(0x10010, 16, kRead).Release();
  EXPECT_EQ(state_->registered, 3U);
}

TEST_F(RegistrationCacheTest, WithoutRekeyExclusiveLocalRegistrationsKeepTheirKeys) {
  state_->can_rekey = false;
  Make({.exclusive = true});
  const Key key = Acquire(0x10010, 20, kRead).l_key();
  EXPECT_EQ(Acquire(0x10010, 20, kRead).l_key(), key);
  EXPECT_NE(Acquire(0x10010, 20, kWrite).l_key(), key) << "without the right to write";
  Acquire(0x20000, 20, kPeer).Release();
  EXPECT_EQ(state_->count(), 2U);
}

TEST_F(RegistrationCacheTest, WhatIsDiscardedIsNotKept) {
  Make({.exclusive = true});
  CachedRegion region = Acquire(0x10010, 20, kRead);
  region.Discard();
  EXPECT_EQ(state_->count(), 1U);
  region.Release();
  EXPECT_EQ(state_->count(), 0U);
}

TEST_F(RegistrationCacheTest, OptionsAreChecked) {
  const auto code = [&](const CacheOptions& options) {
    return RegistrationCache::Create(std::make_unique<FakeBackend>(state_), options).error().code;
  };
  EXPECT_EQ(code({.entries_max = 0}), ErrorCode::kInvalid);
  EXPECT_EQ(code({.age_max = {}}), ErrorCode::kInvalid);
  EXPECT_EQ(RegistrationCache::Create(nullptr).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(RegistrationCache().Acquire(At(1), 1, kRead).error().code, ErrorCode::kInvalid);
}

TEST_F(RegistrationCacheTest, ABackendThatRunsOutOfMemoryLeavesNothingBehind) {
  Make();
  state_->has_no_memory = true;
  const auto refused = cache_.Acquire(At(0x10000), 1, kRead);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  EXPECT_EQ(cache_.Query(), CacheStatistics{});
  state_->has_no_memory = false;
  CachedRegion peer = Acquire(0x10000, 1, kPeer);
  state_->has_no_memory = true;
  peer.Release();  // it cannot be rekeyed, and must not stay open to a peer
  EXPECT_EQ(state_->count(), 0U);
  state_->has_no_memory = false;
  const CachedRegion read = Acquire(0x10000, 1, kRead);
  EXPECT_EQ(cache_.Query().entries, 1U);
}

TEST_F(RegistrationCacheTest, AChangeThatRunsOutOfMemoryLeavesTheEntryAsItWas) {
  Make();
  static_cast<void>(Acquire(0x10000, 1, kRead));
  state_->has_no_memory = true;
  EXPECT_FALSE(cache_.Acquire(At(0x10000), 1, kWrite));
  EXPECT_EQ(Acquire(0x10000, 1, kRead).l_key(), cache_.List().at(0).l_key);
  state_->has_no_memory = false;
  EXPECT_TRUE(Acquire(0x10000, 1, kWrite));
  EXPECT_EQ(cache_.Query().entries, 1U);
}

// A system on which a change is under way, and not reported for as long as one cares to wait.
class SlowEvents final : public MemoryEvents {
 public:
  [[nodiscard]] bool Watch(uint64_t /*address*/, uint64_t /*length*/) override { return true; }
  [[nodiscard]] bool IsPending() const override { return is_pending; }
  [[nodiscard]] bool Add(MemoryListener& /*listener*/) override { return true; }
  void Remove(MemoryListener& /*listener*/) override {}

  bool is_pending = false;
};

TEST_F(RegistrationCacheTest, WhatMayHaveChangedIsRegisteredAnewAndNotKept) {
  SlowEvents events;
  state_->events = &events;
  state_->follows_mappings = false;
  Make();
  const Key before = Acquire(0x10000, 100).l_key();
  events.is_pending = true;
  for (int i = 0; i < 3; ++i) EXPECT_NE(Acquire(0x10000, 100).l_key(), before);
  EXPECT_EQ(state_->count(), 1U) << "not kept";
  EXPECT_NE(Acquire(0x10000 - kPage, 2 * kPage).l_key(), before);
  EXPECT_EQ(cache_.Query().merges, 0U) << "with what may be gone";
  events.is_pending = false;
  EXPECT_EQ(Acquire(0x10000, 100).l_key(), before);
  cache_ = {};
}

}  // namespace
}  // namespace verbena
