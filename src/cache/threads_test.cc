// The cache under threads, with entries that are kept and without: run for data races, too.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/cache_ways.h"
#include "tests/support/fake_backend.h"
#include "verbena/registration_cache.h"

namespace verbena {
namespace {

constexpr uint64_t kPage = 4'096;
constexpr uint64_t kBase = 0x10000000;

class CacheThreads : public testing::TestWithParam<Keeping> {
 protected:
  void Make(CacheOptions options) {
    cache_ = RegistrationCache::Create(std::make_unique<FakeBackend>(state_),
                                       With(GetParam(), std::move(options)))
                 .value();
  }
  template <class Fn>
  void RunThreads(int count, Fn fn) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([&fn, i] { fn(i); });
    for (std::thread& thread : threads) thread.join();
  }
  static const void* PageAt(uint64_t page) {
    return reinterpret_cast<const void*>(kBase + page * kPage);
  }
  void TearDown() override {
    cache_ = {};
    EXPECT_EQ(state_->count(), 0U);
    EXPECT_EQ(state_->registered, state_->deregistered);
  }

  std::shared_ptr<FakeBackend::State> state_ = std::make_shared<FakeBackend::State>();
  RegistrationCache cache_;
};

INSTANTIATE_TEST_SUITE_P(Caches, CacheThreads, BothWays(), NameOfWay);

TEST_P(CacheThreads, HitsAreCountedExactly) {
  Make({});
  constexpr int kTimes = 20'000;
  static_cast<void>(cache_.Acquire(PageAt(0), kPage, Access::kLocalRead));
  RunThreads(4, [&](int) {
    for (int i = 0; i < kTimes; ++i) {
      ASSERT_TRUE(cache_.Acquire(PageAt(0), kPage, Access::kLocalRead));
    }
  });
  const CacheStatistics seen = cache_.Query();
  const uint64_t hits = seen.hits_fast + seen.hits_slow;
  EXPECT_EQ(hits + seen.misses, 4U * kTimes + 1);
  EXPECT_EQ(seen.misses, GetParam() == Keeping::kNothing ? 4U * kTimes + 1 : 1U);
  for (const CacheEntry& entry : cache_.List()) EXPECT_EQ(entry.handles, 0U);
}

// What a handle has stays registered with its bytes and rights until it is released, whatever
// other threads do: evict, announce, change, collect.
TEST_P(CacheThreads, WhatIsHeldIsRegistered) {
  Make({.entries_max = 16, .bytes_max = 24 * kPage});
  std::atomic<uint64_t> refused = 0;
  RunThreads(4, [&](int thread) {
    Random random(static_cast<uint64_t>(thread) + 1);
    std::vector<CachedRegion> held;
    for (int i = 0; i < 5'000; ++i) {
      const uint64_t page = random.Below(24);
      const uint64_t pages = 1 + random.Below(3);
      const Access access = random.Below(4) == 0   ? Access::kLocal | Access::kRemoteRead
                            : random.Below(2) == 0 ? Access::kLocal
                                                   : Access::kLocalRead;
      auto acquired = cache_.Acquire(PageAt(page), pages * kPage, access);
      if (!acquired) {
        ++refused;
        held.clear();
        continue;
      }
      const FakeBackend::Made made = state_->Find(acquired->l_key());
      ASSERT_TRUE(made.access.Has(access));
      ASSERT_LE(made.range.address, kBase + page * kPage);
      ASSERT_GE(made.range.address + made.range.length, kBase + (page + pages) * kPage);
      if (random.Below(2) == 0) held.push_back(std::move(*acquired));
      if (held.size() > 2) held.erase(held.begin());
      for (const CachedRegion& region : held) {
        ASSERT_NE(state_->Find(region.l_key()).range.length, 0U) << "deregistered while held";
      }
      if (random.Below(8) == 0) cache_.Announce(PageAt(random.Below(24)), kPage);
      if (random.Below(64) == 0) cache_.Collect(random.Below(2) == 0);
    }
  });
  EXPECT_LT(refused, 10'000U);
}

// After an announcement has returned, no thread gets a registration that was made before it.
TEST_P(CacheThreads, NothingFromBeforeAnAnnouncementIsFoundAfterIt) {
  Make({.entries_max = 64});
  constexpr uint64_t kPages = 8;
  std::array<std::atomic<uint64_t>, kPages> oldest{};  // registrations before this are stale
  std::atomic<bool> stops = false;
  std::thread announcer([&] {
    Random random(7);
    while (!stops) {
      const uint64_t page = random.Below(kPages);
      uint64_t now = 0;
      {
        const std::lock_guard lock(state_->mutex);
        now = state_->registered;
      }
      cache_.Announce(PageAt(page), 1);
      // A registration that began before the announcement may still get a number up to some later
      // one: it is found by no later acquisition either, but its number does not say so.
      uint64_t before = oldest[page].load();
      while (before < now && !oldest[page].compare_exchange_weak(before, now)) {
      }
      std::this_thread::yield();
    }
  });
  RunThreads(3, [&](int thread) {
    Random random(static_cast<uint64_t>(thread) + 11);
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t page = random.Below(kPages);
      const uint64_t limit = oldest[page].load();
      auto acquired = cache_.Acquire(PageAt(page), 64, Access::kLocalRead);
      ASSERT_TRUE(acquired);
      ASSERT_GT(state_->Find(acquired->l_key()).at, limit) << "a stale hit";
    }
  });
  stops = true;
  announcer.join();
}

TEST_P(CacheThreads, AHandleIsReleasedByAnotherThread) {
  Make({.entries_max = 8});
  for (int i = 0; i < 200; ++i) {
    std::vector<CachedRegion> held;
    for (uint64_t page = 0; page < 4; ++page) {
      held.push_back(cache_.Acquire(PageAt(page * 2), kPage, Access::kLocalRead).value());
    }
    cache_.Announce(PageAt(0), 3 * kPage);
    std::thread([&] { held.clear(); }).join();
  }
  cache_.Collect(true);
  EXPECT_EQ(state_->count(), 0U);
}

}  // namespace
}  // namespace verbena
