#include "base/interval_map.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace verbena {
namespace {

constexpr uint64_t kTop = std::numeric_limits<uint64_t>::max();
constexpr Interval kEverything = {0, kTop};

using Map = IntervalMap<char>;

struct Piece {
  Interval interval;
  uint64_t origin;
  char value;
  friend bool operator==(const Piece&, const Piece&) = default;
};

std::vector<Piece> PiecesIn(const Map& map, Interval interval) {
  std::vector<Piece> pieces;
  map.ForEachOverlap(interval, [&](const Map::Entry& entry) {
    pieces.push_back({entry.interval, entry.origin, entry.value});
  });
  return pieces;
}

using Pieces = std::vector<Piece>;

TEST(IntervalTest, ContainsAndOverlaps) {
  constexpr Interval kTens = {10, 19};
  EXPECT_TRUE(kTens.Contains(10) && kTens.Contains(19));
  EXPECT_FALSE(kTens.Contains(9) || kTens.Contains(20));
  EXPECT_TRUE(kTens.Overlaps({19, 30}) && kTens.Overlaps({0, 10}) && kTens.Overlaps({12, 13}));
  EXPECT_TRUE(kTens.Overlaps(kEverything) && kEverything.Overlaps(kTens));
  EXPECT_FALSE(kTens.Overlaps({20, 30}) || kTens.Overlaps({0, 9}));
}

TEST(IntervalMapTest, StartsEmpty) {
  const Map map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.size(), 0u);
  EXPECT_EQ(map.Find(0), nullptr);
  EXPECT_EQ(map.Find(kTop), nullptr);
  EXPECT_FALSE(map.Covers({5, 5}));
  EXPECT_TRUE(PiecesIn(map, kEverything).empty());
  EXPECT_TRUE(map.IsConsistent());
}

TEST(IntervalMapTest, FindsBothEnds) {
  Map map;
  ASSERT_TRUE(map.Insert({10, 19}, 'a'));
  EXPECT_EQ(map.Find(9), nullptr);
  ASSERT_NE(map.Find(10), nullptr);
  EXPECT_EQ(map.Find(10), map.Find(19));
  EXPECT_EQ(map.Find(10)->value, 'a');
  EXPECT_EQ(map.Find(20), nullptr);
}

TEST(IntervalMapTest, InsertRefusesEveryKindOfOverlap) {
  Map map;
  ASSERT_TRUE(map.Insert({10, 19}, 'a'));
  for (const Interval taken :
       {Interval{10, 19}, {0, 10}, {19, 30}, {12, 15}, {0, 30}, {10, 10}, {19, 19}, {0, kTop}}) {
    EXPECT_FALSE(map.Insert(taken, 'b')) << taken.first << ".." << taken.last;
  }
  EXPECT_EQ(PiecesIn(map, kEverything), (Pieces{{{10, 19}, 10, 'a'}}));
  EXPECT_TRUE(map.Insert({0, 9}, 'b'));
  EXPECT_TRUE(map.Insert({20, 20}, 'c'));
  EXPECT_EQ(map.size(), 3u);
}

TEST(IntervalMapTest, EraseCutsTheMiddleOut) {
  Map map;
  ASSERT_TRUE(map.Insert({10, 19}, 'a'));
  map.Erase({13, 15});
  EXPECT_EQ(PiecesIn(map, kEverything), (Pieces{{{10, 12}, 10, 'a'}, {{16, 19}, 10, 'a'}}));
  EXPECT_TRUE(map.IsConsistent());
}

TEST(IntervalMapTest, EraseTrimsAndRemoves) {
  Map map;
  ASSERT_TRUE(map.Insert({10, 19}, 'a'));
  ASSERT_TRUE(map.Insert({20, 29}, 'b'));
  ASSERT_TRUE(map.Insert({30, 39}, 'c'));
  map.Erase({15, 34});
  EXPECT_EQ(PiecesIn(map, kEverything), (Pieces{{{10, 14}, 10, 'a'}, {{35, 39}, 30, 'c'}}));
  map.Erase({40, kTop});
  map.Erase({0, 9});
  EXPECT_EQ(map.size(), 2u);
  map.Erase(kEverything);
  EXPECT_TRUE(map.empty());
}

TEST(IntervalMapTest, OriginOutlivesRepeatedCuts) {
  Map map;
  ASSERT_TRUE(map.Insert({100, 199}, 'a'));
  map.Erase({120, 129});
  map.Erase({150, 159});
  EXPECT_EQ(map.Find(170)->interval, (Interval{160, 199}));
  EXPECT_EQ(map.Find(170)->origin, 100u);
}

TEST(IntervalMapTest, AssignOverwrites) {
  Map map;
  map.Assign({10, 19}, 'a');
  map.Assign({13, 15}, 'b');
  EXPECT_EQ(PiecesIn(map, kEverything),
            (Pieces{{{10, 12}, 10, 'a'}, {{13, 15}, 13, 'b'}, {{16, 19}, 10, 'a'}}));
  map.Assign({0, 17}, 'c');
  EXPECT_EQ(PiecesIn(map, kEverything), (Pieces{{{0, 17}, 0, 'c'}, {{18, 19}, 10, 'a'}}));
  map.Assign(kEverything, 'd');
  EXPECT_EQ(PiecesIn(map, kEverything), (Pieces{{kEverything, 0, 'd'}}));
}

TEST(IntervalMapTest, HoldsTheWholeSpace) {
  Map map;
  ASSERT_TRUE(map.Insert(kEverything, 'a'));
  EXPECT_NE(map.Find(0), nullptr);
  EXPECT_NE(map.Find(kTop), nullptr);
  EXPECT_TRUE(map.Covers(kEverything));
  map.Erase({kTop, kTop});
  EXPECT_EQ(map.Find(kTop), nullptr);
  EXPECT_FALSE(map.Covers(kEverything));
  map.Erase({0, 0});
  EXPECT_EQ(PiecesIn(map, kEverything), (Pieces{{{1, kTop - 1}, 0, 'a'}}));
}

TEST(IntervalMapTest, CoversNeedsEveryNumber) {
  Map map;
  ASSERT_TRUE(map.Insert({10, 19}, 'a'));
  ASSERT_TRUE(map.Insert({20, 29}, 'b'));
  ASSERT_TRUE(map.Insert({31, kTop}, 'c'));
  EXPECT_TRUE(map.Covers({10, 29}));
  EXPECT_TRUE(map.Covers({15, 15}));
  EXPECT_TRUE(map.Covers({31, kTop}));
  EXPECT_FALSE(map.Covers({9, 29}));
  EXPECT_FALSE(map.Covers({10, 30}));
  EXPECT_FALSE(map.Covers({10, kTop}));
}

TEST(IntervalMapTest, OverlapsComeUncutAndInOrder) {
  Map map;
  ASSERT_TRUE(map.Insert({30, 39}, 'c'));
  ASSERT_TRUE(map.Insert({10, 19}, 'a'));
  ASSERT_TRUE(map.Insert({20, 29}, 'b'));
  EXPECT_EQ(PiecesIn(map, {19, 20}), (Pieces{{{10, 19}, 10, 'a'}, {{20, 29}, 20, 'b'}}));
  EXPECT_EQ(PiecesIn(map, {12, 13}), (Pieces{{{10, 19}, 10, 'a'}}));
  EXPECT_TRUE(PiecesIn(map, {40, kTop}).empty());
  EXPECT_TRUE(PiecesIn(map, {0, 9}).empty());
}

TEST(IntervalMapTest, InsertTakesMoveOnlyValues) {
  IntervalMap<std::unique_ptr<int>> map;
  ASSERT_TRUE(map.Insert({1, 2}, std::make_unique<int>(7)));
  EXPECT_EQ(*map.Find(2)->value, 7);
  map.clear();
  EXPECT_TRUE(map.empty());
}

TEST(IntervalMapDeathTest, RefusesBackwardIntervals) {
  Map map;
  EXPECT_DEATH(static_cast<void>(map.Insert({2, 1}, 'a')), "CHECK failed");
  EXPECT_DEATH(map.Assign({2, 1}, 'a'), "CHECK failed");
  EXPECT_DEATH(map.Erase({2, 1}), "CHECK failed");
  EXPECT_DEATH(static_cast<void>(map.Covers({2, 1})), "CHECK failed");
}

// One cell per number, over a small universe at either end of the number line.
class Model {
 public:
  static constexpr uint64_t kCells = 48;
  struct Cell {
    uint64_t origin;
    int value;
    friend bool operator==(const Cell&, const Cell&) = default;
  };

  explicit Model(uint64_t base) : base_(base) {}

  std::optional<Cell>& At(uint64_t point) { return cells_[point - base_]; }

  void Fill(Interval interval, std::optional<Cell> cell) {
    for (uint64_t i = interval.first - base_; i <= interval.last - base_; ++i) cells_[i] = cell;
  }

  std::size_t Count(Interval interval) const {
    std::size_t count = 0;
    for (uint64_t i = interval.first - base_; i <= interval.last - base_; ++i) {
      if (cells_[i]) ++count;
    }
    return count;
  }

  // Values are unique, so each run of equal cells is one entry.
  std::size_t Runs(Interval interval) const {
    std::size_t runs = 0;
    for (uint64_t i = interval.first - base_; i <= interval.last - base_; ++i) {
      const bool starts = i == interval.first - base_ || cells_[i] != cells_[i - 1];
      if (cells_[i] && starts) ++runs;
    }
    return runs;
  }

 private:
  uint64_t base_;
  std::array<std::optional<Cell>, kCells> cells_;
};

Interval RandomInterval(Random& random, uint64_t base) {
  const uint64_t first = random.Below(Model::kCells);
  const uint64_t last = random.Between(first, std::min(first + 15, Model::kCells - 1));
  return {base + first, base + last};
}

void ExpectSame(const IntervalMap<int>& map, Model& model, uint64_t base) {
  ASSERT_TRUE(map.IsConsistent());
  ASSERT_EQ(map.size(), model.Runs({base, base + (Model::kCells - 1)}));
  for (uint64_t i = 0; i < Model::kCells; ++i) {
    const auto* const entry = map.Find(base + i);
    const auto& cell = model.At(base + i);
    ASSERT_EQ(entry != nullptr, cell.has_value()) << i;
    if (entry == nullptr) continue;
    ASSERT_TRUE(entry->interval.Contains(base + i)) << i;
    ASSERT_EQ(entry->value, cell->value) << i;
    ASSERT_EQ(entry->origin, cell->origin) << i;
  }
}

void ExpectSameIn(const IntervalMap<int>& map, const Model& model, Interval interval) {
  ASSERT_EQ(map.Covers(interval), model.Count(interval) == interval.last - interval.first + 1);
  std::size_t overlaps = 0;
  map.ForEachOverlap(interval, [&](const auto& entry) {
    ++overlaps;
    ASSERT_TRUE(entry.interval.Overlaps(interval));
  });
  ASSERT_EQ(overlaps, model.Runs(interval));
}

TEST(IntervalMapTest, AgreesWithOneCellPerNumber) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const uint64_t base = random.Chance(1, 2) ? 0 : kTop - (Model::kCells - 1);
    IntervalMap<int> map;
    Model model(base);
    for (int value = 0; value < 400; ++value) {
      const Interval interval = RandomInterval(random, base);
      const Model::Cell cell = {interval.first, value};
      switch (random.Below(4)) {
        case 0:
          map.Assign(interval, value);
          model.Fill(interval, cell);
          break;
        case 1: {
          const bool is_free = model.Count(interval) == 0;
          ASSERT_EQ(map.Insert(interval, value), is_free);
          if (is_free) model.Fill(interval, cell);
          break;
        }
        default:
          map.Erase(interval);
          model.Fill(interval, std::nullopt);
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSame(map, model, base));
      ASSERT_NO_FATAL_FAILURE(ExpectSameIn(map, model, RandomInterval(random, base)));
    }
  }
}

}  // namespace
}  // namespace verbena
