#include "cache/overlaps.h"

#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena::cache {
namespace {

std::set<EntryNumber> Found(Overlaps& overlaps, Interval range) {
  std::set<EntryNumber> found;
  overlaps.ForEach(range, [&](EntryNumber number, Interval) { found.insert(number); });
  return found;
}

TEST(Overlaps, AgreesWithASearchFromEndToEnd) {
  Random random(1);
  Overlaps overlaps;
  std::vector<Interval> all;
  for (EntryNumber i = 0; i < 300; ++i) {
    const uint64_t first = random.Below(1 << 20);
    all.push_back({first, first + random.Below(uint64_t{1} << random.Below(18))});
    overlaps.Insert(i, all.back());
  }
  for (int i = 0; i < 500; ++i) {
    const uint64_t first = random.Below(1 << 20);
    const Interval range{first, first + random.Below(uint64_t{1} << random.Below(20))};
    std::set<EntryNumber> expected;
    for (EntryNumber k = 0; k < all.size(); ++k) {
      if (all[k].Overlaps(range)) expected.insert(k);
    }
    ASSERT_EQ(Found(overlaps, range), expected);
  }
}

TEST(Overlaps, WholeAddressSpace) {
  Overlaps overlaps;
  overlaps.Insert(1, {0, ~uint64_t{0}});
  overlaps.Insert(2, {~uint64_t{0}, ~uint64_t{0}});
  EXPECT_EQ(Found(overlaps, {5, 5}), std::set<EntryNumber>{1});
  EXPECT_EQ(Found(overlaps, {~uint64_t{0}, ~uint64_t{0}}), (std::set<EntryNumber>{1, 2}));
  overlaps.ForEach({0, ~uint64_t{0}},
                   [&](EntryNumber number, Interval bytes) { overlaps.Erase(number, bytes); });
  EXPECT_EQ(overlaps.size(), 0U);
}

}  // namespace
}  // namespace verbena::cache
