#include "cache/eviction.h"

#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::cache {
namespace {

constexpr uint32_t kEntries = 100;

// A cache of kEntries buffers, each of one page, as core.h keeps it.
class ByEviction {
 public:
  bool Use(uint64_t buffer) {
    if (const auto found = where_.find(buffer); found != where_.end()) {
      ++uses_[found->second];
      return true;
    }
    const EntryNumber number = Take();
    what_[number] = buffer;
    where_[buffer] = number;
    seen_[number] = ++uses_[number];
    eviction_.Insert(number, {buffer << 12, (buffer << 12) + 4'095});
    return false;
  }

 private:
  EntryNumber Take() {
    if (where_.size() < kEntries) return static_cast<EntryNumber>(where_.size());
    const EntryNumber number = *eviction_.Choose([&](EntryNumber candidate) {
      if (uses_[candidate] == seen_[candidate]) return RegistrationEviction::Use::kIdle;
      seen_[candidate] = uses_[candidate];
      return RegistrationEviction::Use::kUsed;
    });
    where_.erase(what_[number]);
    return number;
  }

  RegistrationEviction eviction_{kEntries};
  std::map<uint64_t, EntryNumber> where_;
  std::vector<uint64_t> what_ = std::vector<uint64_t>(kEntries);
  std::vector<uint64_t> uses_ = std::vector<uint64_t>(kEntries);
  std::vector<uint64_t> seen_ = std::vector<uint64_t>(kEntries);
};

class ByLru {
 public:
  bool Use(uint64_t buffer) {
    const auto found = where_.find(buffer);
    if (found != where_.end()) {
      order_.splice(order_.end(), order_, found->second);
      return true;
    }
    if (order_.size() == kEntries) {
      where_.erase(order_.front());
      order_.pop_front();
    }
    where_[buffer] = order_.insert(order_.end(), buffer);
    return false;
  }

 private:
  std::list<uint64_t> order_;
  std::map<uint64_t, std::list<uint64_t>::iterator> where_;
};

// Buffers that are used often, in between others that are used once: a program with some pools, and
// with transfers of what it has just allocated.
template <class Cache>
int HitsOnMixedTrace() {
  Cache cache;
  Random random(3);
  int hits = 0;
  uint64_t once = 1'000'000;
  for (int i = 0; i < 40'000; ++i) {
    const bool is_pool = random.Below(2) == 0;
    // The smaller of two draws: some buffers are used more than others.
    const uint64_t buffer = std::min(random.Below(120), random.Below(120));
    hits += cache.Use(is_pool ? buffer : ++once) ? 1 : 0;
  }
  return hits;
}

TEST(RegistrationEviction, HitsMoreOftenThanLru) {
  const int lru = HitsOnMixedTrace<ByLru>();
  const int ours = HitsOnMixedTrace<ByEviction>();
  RecordProperty("hits_lru", lru);
  RecordProperty("hits_s3_fifo", ours);
  EXPECT_GT(ours, lru + lru / 10);
}

TEST(RegistrationEviction, ChoosesTheOldestThatIsIdle) {
  RegistrationEviction eviction(4);
  for (EntryNumber number = 0; number < 4; ++number) {
    eviction.Insert(number, {number * 4'096ULL, number * 4'096ULL + 4'095});
  }
  const auto idle = [](EntryNumber number) {
    return number == 0 ? RegistrationEviction::Use::kHeld : RegistrationEviction::Use::kIdle;
  };
  EXPECT_EQ(eviction.Choose(idle), 1U);
  EXPECT_EQ(eviction.Choose(idle), 2U);
  eviction.Remove(3);
  EXPECT_EQ(eviction.Choose(idle), std::nullopt) << "all are held";
  EXPECT_EQ(eviction.size(), 1U);
}

}  // namespace
}  // namespace verbena::cache
