// The cache against a naive one: a list of registrations that is searched from end to end.

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/fake_backend.h"
#include "verbena/registration_cache.h"

namespace verbena {
namespace {

constexpr uint64_t kPage = 4'096;
constexpr uint64_t kBase = 0x10000000;
constexpr Access kRemote = Access::kLocal | Access::kRemoteRead | Access::kRemoteWrite;

// What can be found, by the rules of registration_cache.h. Nothing is limited.
class NaiveCache {
 public:
  struct Line {
    MemoryRange range;
    Access access;
    uint64_t made;
  };

  // Nullptr: none serves it.
  const Line* Find(MemoryRange range, Access access) const {
    for (const Line& line : lines_) {
      const bool is_remote = line.access.HasAny(Access::kRemote);
      if (is_remote != access.HasAny(Access::kRemote)) continue;
      if (is_remote ? line.range == range && line.access == access
                    : Covers(line.range, range) && line.access.Has(access)) {
        return &line;
      }
    }
    return nullptr;
  }
  // A registration that was made: it replaces the local ones that it covers.
  uint64_t Add(const Line& line) {
    uint64_t replaced = 0;
    if (!line.access.HasAny(Access::kRemote)) {
      replaced = std::erase_if(lines_, [&](const Line& other) {
        return !other.access.HasAny(Access::kRemote) && Covers(line.range, other.range) &&
               line.access.Has(other.access);
      });
    }
    lines_.push_back(line);
    return replaced;
  }
  uint64_t GiveUp(MemoryRange range) {
    return std::erase_if(lines_, [&](const Line& line) {
      return line.range.address < range.address + range.length &&
             range.address < line.range.address + line.range.length;
    });
  }
  size_t size() const { return lines_.size(); }

 private:
  static bool Covers(MemoryRange outer, MemoryRange inner) {
    return outer.address <= inner.address &&
           inner.address + inner.length <= outer.address + outer.length;
  }

  std::vector<Line> lines_;
};

class CacheModel {
 public:
  // `is_off`: nothing is kept, so nothing can be found.
  CacheModel(uint64_t seed, bool is_off) : random_(seed), is_off_(is_off) {
    CacheOptions options;
    options.release_immediately = is_off;
    options.released_remote_key = ReleasedRemoteKey::kKept;
    state_->can_rekey = false;
    cache_ = RegistrationCache::Create(std::make_unique<FakeBackend>(state_), options).value();
  }

  void Step() {
    switch (random_.Below(8)) {
      case 0:
        return GiveUp();
      case 1:
        if (!held_.empty())
          held_.erase(held_.begin() + static_cast<long>(random_.Below(held_.size())));
        return;
      default:
        return Acquire();
    }
  }
  void Compare() {
    cache_.Collect();
    const CacheStatistics seen = cache_.Query();
    EXPECT_EQ(seen.hits_fast + seen.hits_slow, hits_);
    EXPECT_EQ(seen.misses, misses_);
    EXPECT_EQ(seen.merges, merges_);
    EXPECT_EQ(seen.invalidations, invalidations_);
    size_t findable = 0;
    for (const CacheEntry& entry : cache_.List()) {
      findable += entry.status != CacheEntryStatus::kDetached ? 1 : 0;
    }
    EXPECT_EQ(findable, naive_.size());
    EXPECT_EQ(state_->count(), seen.entries);
  }
  uint64_t hits() const { return hits_; }
  uint64_t merges() const { return merges_; }

 private:
  MemoryRange Draw() {
    return {kBase + random_.Below(64 * kPage),
            1 + random_.Below(random_.Below(4) == 0 ? 40'000 : 600)};
  }
  Access DrawRights() {
    switch (random_.Below(4)) {
      case 0:
        return kRemote;
      case 1:
        return Access::kLocal;
      default:
        return Access::kLocalRead;
    }
  }
  void GiveUp() {
    const MemoryRange range = Draw();
    cache_.Announce(reinterpret_cast<const void*>(range.address), range.length);
    invalidations_ += naive_.GiveUp(range);
  }
  void Acquire() {
    // Some again, so that exact ranges are met.
    if (recent_.size() < 20 || random_.Below(2) == 0) {
      recent_.push_back({Draw(), DrawRights(), 0});
    }
    const NaiveCache::Line request = recent_[random_.Below(recent_.size())];
    const NaiveCache::Line* const expected = naive_.Find(request.range, request.access);
    const uint64_t registered = state_->registered;
    auto acquired = cache_.Acquire(reinterpret_cast<const void*>(request.range.address),
                                   request.range.length, request.access);
    ASSERT_TRUE(acquired);
    const FakeBackend::Made made = state_->Find(acquired->l_key());
    if (expected != nullptr) {
      ++hits_;
      EXPECT_EQ(state_->registered, registered) << "registered although it had been";
    } else {
      ++misses_;
      EXPECT_EQ(state_->registered, registered + 1) << "a stale or wrong hit";
      if (!is_off_) merges_ += naive_.Add({made.range, made.access, made.at});
    }
    EXPECT_EQ(naive_.Find(request.range, request.access) == nullptr, is_off_);
    EXPECT_TRUE(made.access.Has(request.access));
    if (random_.Below(3) == 0) held_.push_back(std::move(*acquired));
  }

  Random random_;
  const bool is_off_;
  std::shared_ptr<FakeBackend::State> state_ = std::make_shared<FakeBackend::State>();
  RegistrationCache cache_;
  NaiveCache naive_;
  std::vector<NaiveCache::Line> recent_;
  std::vector<CachedRegion> held_;
  uint64_t hits_ = 0, misses_ = 0, merges_ = 0, invalidations_ = 0;
};

TEST(CacheModel, AgreesWithANaiveCache) {
  uint64_t hits = 0, merges = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CacheModel model(seed, false);
    for (int i = 0; i < 1'000; ++i) model.Step();
    model.Compare();
    hits += model.hits();
    merges += model.merges();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(hits, 1'000U);
  EXPECT_GT(merges, 1'000U);
}

TEST(CacheModel, WithoutACacheEachRequestRegisters) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CacheModel model(seed, true);
    for (int i = 0; i < 1'000; ++i) model.Step();
    model.Compare();
    EXPECT_EQ(model.hits(), 0U);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace verbena
