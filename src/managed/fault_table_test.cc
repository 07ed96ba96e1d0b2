#include "managed/fault_table.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::managed {
namespace {

TEST(FaultTable, ReturnsPostedFaults) {
  FaultTable table;
  std::array<CpuFault, 4> faults;
  EXPECT_EQ(table.Take(faults), 0u);
  EXPECT_TRUE(table.Post({.granule = 0, .is_write = false}));
  EXPECT_TRUE(table.Post({.granule = UINT32_MAX, .is_write = true}));
  ASSERT_EQ(table.Take(faults), 2u);
  EXPECT_EQ(faults[0].granule, 0u);
  EXPECT_FALSE(faults[0].is_write);
  EXPECT_EQ(faults[1].granule, UINT32_MAX);
  EXPECT_TRUE(faults[1].is_write);
  EXPECT_EQ(table.Take(faults), 0u);
}

TEST(FaultTable, KeepsADuplicateOnce) {
  FaultTable table;
  std::array<CpuFault, 4> faults;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(table.Post({.granule = 5, .is_write = false}));
  EXPECT_TRUE(table.Post({.granule = 5, .is_write = true}));
  EXPECT_EQ(table.Take(faults), 2u);
}

TEST(FaultTable, IsBounded) {
  FaultTable table;
  for (uint32_t i = 0; i < FaultTable::kCapacity; ++i) {
    EXPECT_TRUE(table.Post({.granule = i, .is_write = false}));
  }
  EXPECT_FALSE(table.Post({.granule = 1000, .is_write = false}));
  EXPECT_TRUE(table.Post({.granule = 7, .is_write = false})) << "is there";
  std::array<CpuFault, 1> fault;
  EXPECT_EQ(table.Take(fault), 1u);
  EXPECT_TRUE(table.Post({.granule = 1000, .is_write = false}));
}

TEST(FaultTableThreads, NothingIsLost) {
  constexpr uint32_t kEach = 20'000;
  FaultTable table;
  std::vector<std::thread> posters;
  for (uint32_t t = 0; t < 3; ++t) {
    posters.emplace_back([&table, t] {
      for (uint32_t i = 0; i < kEach; ++i) {
        while (!table.Post({.granule = t * kEach + i, .is_write = false})) {
          std::this_thread::yield();
        }
      }
    });
  }
  std::set<uint32_t> taken;
  std::array<CpuFault, 16> faults;
  while (taken.size() < 3 * kEach) {
    const size_t count = table.Take(faults);
    for (size_t i = 0; i < count; ++i) EXPECT_TRUE(taken.insert(faults[i].granule).second);
    if (count == 0) std::this_thread::yield();
  }
  for (std::thread& poster : posters) poster.join();
}

}  // namespace
}  // namespace verbena::managed
