// The cache over Verbena's own verbs: keys follow the mappings, and a released R_Key is refused.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/cache_ways.h"
#include "tests/support/verbs_world.h"
#include "verbena/registration_cache.h"

namespace verbena {
namespace {

constexpr size_t kBytes = 65'536;

class DomainCacheThreads : public VerbsPairTest, public ::testing::WithParamInterface<Keeping> {
 protected:
  [[nodiscard]] static bool is_off() { return GetParam() == Keeping::kNothing; }
  void Make(const CacheOptions& options = {}) {
    cache_ = Good(RegistrationCache::Create(BackendOf(b_.domain), With(GetParam(), options)));
  }
  void SetUp() override {
    VerbsPairTest::SetUp();
    Make();
    Map();
  }
  void TearDown() override {
    cache_ = {};
    munmap(memory_, kBytes);
  }
  // At the same address each time.
  void Map() {
    void* const mapped =
        mmap(memory_, kBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (memory_ != nullptr ? MAP_FIXED : 0), -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    memory_ = static_cast<std::byte*>(mapped);
  }
  CachedRegion Acquire(Access access) { return Good(cache_.Acquire(memory_, kBytes, access)); }
  // The first word at b, as a reads it.
  CompletionStatus Read(Key r_key) {
    const RemoteAddress remote{reinterpret_cast<uintptr_t>(memory_), r_key};
    EXPECT_TRUE(qa_.Post(verbena::Read{.data = a_.region.Local(0, 8), .remote = remote}));
    return a_.WaitStatus().value();
  }
  uint64_t Word() const {
    uint64_t word = 0;
    std::memcpy(&word, a_.memory.data(), sizeof word);
    return word;
  }

  RegistrationCache cache_;
  std::byte* memory_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Caches, DomainCacheThreads, BothWays(), NameOfWay);

TEST_P(DomainCacheThreads, AStaleTranslationFaultsAndFindsTheNewMemory) {
  Make({.released_remote_key = ReleasedRemoteKey::kKept});
  constexpr Access kRights = Access::kLocal | Access::kRemoteRead;
  const Key key = Acquire(kRights).r_key();
  for (uint64_t generation = 1; generation <= 20; ++generation) {
    munmap(memory_, kBytes);
    Map();
    std::memcpy(memory_, &generation, sizeof generation);
    const CachedRegion region = Acquire(kRights);
    if (!is_off()) {
      ASSERT_EQ(region.r_key(), key) << "nothing reports the change, so it is a hit";
    }
    ASSERT_EQ(Read(region.r_key()), CompletionStatus::kSuccess);
    ASSERT_EQ(Word(), generation);
  }
  EXPECT_EQ(cache_.Query().misses, is_off() ? 21U : 1U);
}

TEST_P(DomainCacheThreads, AReleasedRemoteKeyIsRefused) {
  CachedRegion region = Acquire(Access::kLocal | Access::kRemoteRead);
  const Key key = region.r_key();
  EXPECT_EQ(Read(key), CompletionStatus::kSuccess);
  region.Release();
  EXPECT_EQ(cache_.Query().entries, is_off() ? 0U : 1U);
  EXPECT_EQ(Read(key), CompletionStatus::kRemoteAccessError);
}

TEST_P(DomainCacheThreads, ARevivedRegionHasItsRightsBack) {
  Acquire(Access::kLocal | Access::kRemoteRead).Release();
  const CachedRegion again = Acquire(Access::kLocal | Access::kRemoteRead);
  EXPECT_EQ(cache_.Query().misses, is_off() ? 2U : 1U);
  EXPECT_EQ(Read(again.r_key()), CompletionStatus::kSuccess);
}

TEST_P(DomainCacheThreads, ErrorsAreThoseOfTheRegistration) {
  munmap(memory_, kBytes);
  EXPECT_EQ(CodeOf(cache_.Acquire(memory_, kBytes, Access::kLocal)), ErrorCode::kSystem);
  Map();
}

class DomainCacheEventsThreads : public testing::TestWithParam<Keeping> {};
INSTANTIATE_TEST_SUITE_P(Caches, DomainCacheEventsThreads, BothWays(), NameOfWay);

TEST_P(DomainCacheEventsThreads, WithPageEventsUnmappedMemoryIsRegisteredAnew) {
  Options options = VerbsTestOptions();
  options.page_events = true;
  const VerbsNode node("127.0.0.1", options);
  if (node.domain.memory_events() == nullptr) GTEST_SKIP() << "no userfaultfd here";
  RegistrationCache cache =
      Good(RegistrationCache::Create(BackendOf(node.domain), With(GetParam())));
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static_cast<void>(Good(cache.Acquire(memory, kBytes, Access::kLocal)));
  static_cast<void>(
      mmap(memory, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
  static_cast<void>(Good(cache.Acquire(memory, kBytes, Access::kLocal)));
  EXPECT_EQ(cache.Query().misses, 2U);
  EXPECT_EQ(cache.Query().invalidations, GetParam() == Keeping::kNothing ? 0U : 1U);
  munmap(memory, kBytes);
}

}  // namespace
}  // namespace verbena
