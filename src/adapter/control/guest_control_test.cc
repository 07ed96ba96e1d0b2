#include "adapter/control/guest_control.h"

#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {

constexpr uint64_t kPage = 4'096, kMebibyte = uint64_t{1} << 20;

// A process with two pieces of managed memory.
class GuestBudgetThreads : public testing::Test {
 protected:
  odp::ManagedArena* Make(uint64_t size, uint64_t budget) {
    managed::ArenaOptions options{.size = size, .budget = budget};
    options.swap = testing::TempDir();
    return *node_.adapter().MakeArena(options);
  }
  static void Touch(const odp::ManagedArena& arena, int value) {
    std::memset(reinterpret_cast<void*>(arena.cpu_base), value, arena.size);
  }
  static bool Holds(const odp::ManagedArena& arena, int value) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(arena.cpu_base);
    for (uint64_t at = 0; at < arena.size; at += kPage) {
      if (bytes[at] != value) return false;
    }
    return true;
  }
  bool ComesDownTo(uint64_t bytes) {
    for (const Time end = Now() + Seconds(10); Now() < end;) {
      if (control().resident_bytes() <= bytes) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  GuestControl& control() { return *node_.adapter().guest_control(); }

  TestNode node_{"127.0.0.1"};
};

TEST_F(GuestBudgetThreads, IsOverAllManagedMemoryAndChangesAtRunTime) {
  const odp::ManagedArena* const a = Make(4 * kMebibyte, 4 * kMebibyte);
  const odp::ManagedArena* const b = Make(2 * kMebibyte, 2 * kMebibyte);
  Touch(*a, 1);
  Touch(*b, 2);
  EXPECT_EQ(control().managed_bytes(), 6 * kMebibyte);
  EXPECT_TRUE(ComesDownTo(6 * kMebibyte));
  EXPECT_GT(control().resident_bytes(), 5 * kMebibyte) << "without a guest's budget all is there";

  ASSERT_TRUE(control().SetMemoryBudget(kMebibyte));
  EXPECT_EQ(control().memory_budget(), kMebibyte);
  EXPECT_TRUE(ComesDownTo(kMebibyte));
  EXPECT_TRUE(Holds(*a, 1));
  EXPECT_TRUE(Holds(*b, 2));
  EXPECT_TRUE(ComesDownTo(kMebibyte)) << "what was read again is under the budget, too";

  ASSERT_TRUE(control().SetMemoryBudget(8 * kMebibyte));
  EXPECT_TRUE(Holds(*a, 1));
  EXPECT_TRUE(Holds(*b, 2));
  EXPECT_GT(control().resident_bytes(), 5 * kMebibyte);
}

TEST_F(GuestBudgetThreads, NothingIsPagedWhileTheBudgetIsEnoughForAll) {
  const odp::ManagedArena* const large = Make(4 * kMebibyte, 4 * kMebibyte);
  const odp::ManagedArena* const small = Make(kMebibyte / 4, kMebibyte / 4);
  ASSERT_TRUE(control().SetMemoryBudget(4 * kMebibyte + kMebibyte / 4));
  Touch(*large, 1);
  Touch(*small, 2);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(Holds(*large, 1));
    EXPECT_TRUE(Holds(*small, 2));
  }
  EXPECT_EQ(control().resident_bytes(), 4 * kMebibyte + kMebibyte / 4);
  EXPECT_EQ(large->arena->report().paging.writes + small->arena->report().paging.writes, 0U);
}

TEST_F(GuestBudgetThreads, NoPieceHasMoreThanTheProgramGaveIt) {
  odp::ManagedArena* const arena = Make(4 * kMebibyte, 2 * kMebibyte);
  ASSERT_TRUE(control().SetMemoryBudget(64 * kMebibyte));
  Touch(*arena, 1);
  EXPECT_TRUE(ComesDownTo(2 * kMebibyte));
  ASSERT_TRUE(node_.adapter().SetBudget(arena, kMebibyte));
  EXPECT_TRUE(ComesDownTo(kMebibyte));
}

TEST_F(GuestBudgetThreads, TooLittleIsRefusedAndChangesNothing) {
  Make(4 * kMebibyte, 2 * kMebibyte);
  ASSERT_TRUE(control().SetMemoryBudget(kMebibyte));
  const auto refused = control().SetMemoryBudget(16 * kPage);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("at least 131072 bytes"), std::string::npos)
      << refused.error().text;
  EXPECT_EQ(control().memory_budget(), kMebibyte);
}

TEST_F(GuestBudgetThreads, RegionsAreListedWithWhereTheirBytesAre) {
  const odp::ManagedArena* const arena = Make(kMebibyte, kMebibyte);
  EXPECT_TRUE(control().Regions().empty()) << "a native region is none of the host's";
  Touch(*arena, 1);
  const auto keys = node_.adapter().RegisterRegion(
      {.pd = node_.pd(),
       .start = KeyAddress(arena->cpu_base + 100),
       .length = kMebibyte / 2,
       .rights = Access::kAll},
      memory::LinearBacking{memory::PhysicalAddress(arena->cpu_base + 100)});
  ASSERT_TRUE(keys);
  const auto regions = control().Regions();
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions[0].id, keys->local);
  EXPECT_EQ(regions[0].bytes, kMebibyte / 2);
  EXPECT_EQ(regions[0].resident, kMebibyte / 2);
  EXPECT_EQ(regions[0].swapped, 0U);
  EXPECT_EQ(regions[0].state, QuiesceState::kInUse);
}

}  // namespace
}  // namespace verbena::adapter
