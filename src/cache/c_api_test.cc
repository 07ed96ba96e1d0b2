#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/support/cache_ways.h"
#include "verbena/verbena_cache.h"

namespace {

struct Calls {
  int registered = 0;
  int deregistered = 0;
  int rekeyed = 0;
  int refuses = 0;
  uint32_t last_key = 0;
};

int Reg(void* argument, void* /*address*/, size_t /*length*/, int access,
        verbena_cache_keys* keys) {
  auto* const calls = static_cast<Calls*>(argument);
  if (calls->refuses != 0) return calls->refuses;
  ++calls->registered;
  keys->lkey = keys->rkey = ++calls->last_key + (static_cast<uint32_t>(access) << 8);
  return 0;
}
void Dereg(void* argument, const verbena_cache_keys* /*keys*/) {
  ++static_cast<Calls*>(argument)->deregistered;
}
int Rekey(void* argument, verbena_cache_keys* keys, int /*access*/) {
  auto* const calls = static_cast<Calls*>(argument);
  ++calls->rekeyed;
  keys->lkey = keys->rkey = ++calls->last_key;
  return 0;
}

class CacheInC : public testing::TestWithParam<verbena::Keeping> {
 protected:
  [[nodiscard]] static bool is_off() { return GetParam() == verbena::Keeping::kNothing; }
  void Make() {
    verbena_cache_options options;
    verbena_cache_default_options(&options);
    options.release_immediately = is_off() ? 1 : 0;
    Make(&options);
  }
  void Make(const verbena_cache_options* options) {
    const verbena_cache_backend backend{Reg, Dereg, Rekey, &calls_, 1};
    ASSERT_EQ(verbena_cache_create(&backend, options, &cache_), 0);
  }
  void TearDown() override {
    if (cache_ != nullptr) verbena_cache_destroy(cache_);
    EXPECT_EQ(calls_.registered, calls_.deregistered);
  }
  const void* const address_ = reinterpret_cast<const void*>(0x10000);
  Calls calls_;
  verbena_cache* cache_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Caches, CacheInC, verbena::BothWays(), verbena::NameOfWay);

TEST_P(CacheInC, RegistersOnceIfItKeeps) {
  Make();
  verbena_cached_region region{};
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(verbena_cache_acquire(cache_, address_, 64, VERBENA_CACHE_LOCAL_WRITE, &region), 0);
    EXPECT_EQ(region.keys.lkey, 0x100U + calls_.last_key);
    verbena_cache_release(&region);
    verbena_cache_release(&region);  // of nothing
  }
  EXPECT_EQ(calls_.registered, is_off() ? 3 : 1);
  EXPECT_EQ(calls_.deregistered, is_off() ? 3 : 0);
  verbena_cache_statistics seen{};
  verbena_cache_query(cache_, &seen);
  EXPECT_EQ(seen.misses, is_off() ? 3U : 1U);
  EXPECT_EQ(seen.hits_fast, is_off() ? 0U : 2U);
}

TEST_P(CacheInC, ListsWhatIsThere) {
  Make();
  verbena_cached_region region{};
  ASSERT_EQ(verbena_cache_acquire(cache_, address_, 64, VERBENA_CACHE_LOCAL_WRITE, &region), 0);
  verbena_cache_entry line{};
  ASSERT_EQ(verbena_cache_list(cache_, &line, 1), 1U);
  EXPECT_STREQ(line.status, is_off() ? "detached" : "in use");
  EXPECT_EQ(line.handles, 1U);
  verbena_cache_release(&region);
  if (is_off()) {
    EXPECT_EQ(verbena_cache_list(cache_, &line, 1), 0U);
    return;
  }
  ASSERT_EQ(verbena_cache_list(cache_, &line, 1), 1U);
  EXPECT_STREQ(line.status, "kept");
  EXPECT_EQ(line.access, VERBENA_CACHE_LOCAL_WRITE);
  EXPECT_EQ(line.length, 4'096U);
  EXPECT_EQ(verbena_cache_list(cache_, nullptr, 0), 1U);
}

TEST_P(CacheInC, AnnouncesAndCollects) {
  Make();
  verbena_cached_region region{};
  ASSERT_EQ(verbena_cache_acquire(cache_, address_, 64, 0, &region), 0);
  verbena_cache_announce(cache_, address_, 1);
  verbena_cache_collect(cache_, 0);
  EXPECT_EQ(calls_.deregistered, 0) << "in use";
  verbena_cache_release(&region);
  EXPECT_EQ(calls_.deregistered, 1);
}

TEST_P(CacheInC, RemoteKeysAreRefusedAfterTheirRelease) {
  Make();
  verbena_cached_region region{};
  ASSERT_EQ(verbena_cache_acquire(cache_, address_, 64, VERBENA_CACHE_REMOTE_READ, &region), 0);
  verbena_cache_release(&region);
  EXPECT_EQ(calls_.rekeyed, is_off() ? 0 : 1);
  EXPECT_EQ(calls_.deregistered, is_off() ? 1 : 0);
}

TEST_P(CacheInC, OptionsAreThose) {
  verbena_cache_options options;
  verbena_cache_default_options(&options);
  EXPECT_EQ(options.entries_max, 65'536U);
  options.keep_released_remote_keys = 1;
  options.release_immediately = 1;
  Make(&options);
  verbena_cached_region region{};
  ASSERT_EQ(verbena_cache_acquire(cache_, address_, 64, VERBENA_CACHE_REMOTE_READ, &region), 0);
  verbena_cache_release(&region);
  EXPECT_EQ(calls_.rekeyed, 0);
  EXPECT_EQ(calls_.deregistered, 1);
}

TEST_P(CacheInC, ErrorsAreNumbers) {
  verbena_cache* none = nullptr;
  const verbena_cache_backend empty{};
  EXPECT_EQ(verbena_cache_create(&empty, nullptr, &none), EINVAL);
  Make();
  verbena_cached_region region{};
  EXPECT_EQ(verbena_cache_acquire(cache_, address_, 0, 0, &region), EINVAL);
  EXPECT_EQ(verbena_cache_acquire(cache_, address_, 64, 1 << 20, &region), EINVAL);
  calls_.refuses = EFAULT;
  EXPECT_EQ(verbena_cache_acquire(cache_, address_, 64, 0, &region), EFAULT);
}

}  // namespace
