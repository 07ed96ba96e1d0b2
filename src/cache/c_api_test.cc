#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

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

class CacheInC : public testing::Test {
 protected:
  void Make(const verbena_cache_options* options = nullptr) {
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

TEST_F(CacheInC, RegistersOnce) {
  Make();
  verbena_cached_region region{};
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(verbena_cache_acquire(cache_, address_, 64, VERBENA_CACHE_LOCAL_WRITE, &region), 0);
    EXPECT_EQ(region.keys.lkey, 0x101U);
    verbena_cache_release(&region);
    verbena_cache_release(&region);  // of nothing
  }
  EXPECT_EQ(calls_.registered, 1);
  verbena_cache_statistics seen{};
  verbena_cache_query(cache_, &seen);
  EXPECT_EQ(seen.misses, 1U);
  EXPECT_EQ(seen.hits_fast, 2U);
  verbena_cache_entry line{};
  ASSERT_EQ(verbena_cache_list(cache_, &line, 1), 1U);
  EXPECT_STREQ(line.status, "kept");
  EXPECT_EQ(line.access, VERBENA_CACHE_LOCAL_WRITE);
  EXPECT_EQ(line.length, 4'096U);
  EXPECT_EQ(verbena_cache_list(cache_, nullptr, 0), 1U);
}

TEST_F(CacheInC, AnnouncesAndCollects) {
  Make();
  verbena_cached_region region{};
  ASSERT_EQ(verbena_cache_acquire(cache_, address_, 64, 0, &region), 0);
  verbena_cache_announce(cache_, address_, 1);
  verbena_cache_collect(cache_, 0);
  EXPECT_EQ(calls_.deregistered, 0) << "in use";
  verbena_cache_release(&region);
  EXPECT_EQ(calls_.deregistered, 1);
}

TEST_F(CacheInC, RemoteKeysAreRefusedAfterTheirRelease) {
  Make();
  verbena_cached_region region{};
  ASSERT_EQ(verbena_cache_acquire(cache_, address_, 64, VERBENA_CACHE_REMOTE_READ, &region), 0);
  verbena_cache_release(&region);
  EXPECT_EQ(calls_.rekeyed, 1);
}

TEST_F(CacheInC, OptionsAreThose) {
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

TEST_F(CacheInC, ErrorsAreNumbers) {
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
