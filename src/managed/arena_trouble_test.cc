#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "managed/arena.h"
#include "tests/support/arena_fixture.h"

// The swap store is slow, fails, is full or returns wrong data: only contents that it fails to
// return are lost.

namespace verbena::managed {
namespace {

using std::chrono::milliseconds;

using ArenaTroubleThreads = ArenaFixture;

TEST_P(ArenaTroubleThreads, ASlowStoreDelaysButLosesNothing) {
  MAKE_OR_SKIP(Options(2 * kMebibyte, 64 * kPage));
  trouble_->delay_us = 2000;
  for (uint64_t i = 0; i < 200; ++i) Write(i, i + 1);
  for (uint64_t i = 0; i < 200; ++i) ASSERT_EQ(Read(i), i + 1);
}

TEST_P(ArenaTroubleThreads, WritesThatFailForAWhileLoseNothing) {
  ArenaOptions options = Options(2 * kMebibyte, 64 * kPage);
  options.paging.retry_first = Milliseconds(1);
  options.paging.retry_max = Milliseconds(10);
  MAKE_OR_SKIP(options);
  for (uint64_t i = 0; i < 40; ++i) Write(i, i + 1);
  trouble_->failing_writes = 20;
  for (uint64_t i = 40; i < 512; ++i) Write(i, i + 1);
  for (uint64_t i = 0; i < 512; ++i) ASSERT_EQ(Read(i), i + 1);
  EXPECT_EQ(arena_->report().paging.broken, 0u);
  EXPECT_EQ(adapter_->last_report, paging::StoreReport::kWell);
}

TEST_P(ArenaTroubleThreads, WhenTheStoreIsFullThreadsWaitUntilThereIsRoom) {
  ArenaOptions options = Options(2 * kMebibyte, 64 * kPage);
  options.compress = false;
  options.paging.patience = Milliseconds(50);
  MAKE_OR_SKIP(options);
  trouble_->is_full = true;
  std::atomic<uint64_t> written = 0;
  std::thread program([&] {
    for (uint64_t i = 0; i < 512; ++i, ++written) Write(i, i + 1);
  });
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_LT(written, 200u);
  EXPECT_EQ(adapter_->last_report, paging::StoreReport::kFull);
  EXPECT_EQ(adapter_->Access(500 * kPage, kPage, true, [](auto, auto) {}), 0u);
  EXPECT_TRUE(adapter_->was_refused()) << "the adapter does not wait";
  trouble_->is_full = false;
  program.join();
  for (uint64_t i = 0; i < 512; ++i) ASSERT_EQ(Read(i), i + 1);
  EXPECT_EQ(adapter_->last_report, paging::StoreReport::kWell);
}

TEST_P(ArenaTroubleThreads, WhenTheStoreStaysFullAThreadIsRefusedAfterItsPatience) {
  ArenaOptions options = Options(2 * kMebibyte, 64 * kPage);
  options.compress = false;
  options.paging.patience = Milliseconds(50);
  options.program_patience = Milliseconds(100);
  MAKE_OR_SKIP(options);
  trouble_->is_full = true;
  const auto can_write = [this](uint64_t i) {
    return memory::GuardedStore64(words_ + i * kWordsPerPage, i + 1).has_value();
  };
  uint64_t refused = 0;
  while (refused < 512 && can_write(refused)) ++refused;
  ASSERT_LT(refused, 512u);
  EXPECT_NE(arena_->residency(refused * kPage), Residency::kBroken) << "the contents are not lost";
  trouble_->is_full = false;
  for (uint64_t i = 0; i < refused; ++i) EXPECT_EQ(Read(i), i + 1);
}

TEST_P(ArenaTroubleThreads, ReadsThatFailOnceAreTriedAgain) {
  MAKE_OR_SKIP(Options(2 * kMebibyte, 64 * kPage));
  for (uint64_t i = 0; i < 512; ++i) Write(i, i + 1);
  trouble_->failing_reads = 1;
  for (uint64_t i = 0; i < 512; ++i) ASSERT_EQ(Read(i), i + 1);
}

TEST_P(ArenaTroubleThreads, OnlyACorruptGranuleIsAnError) {
  ArenaOptions options = Options(2 * kMebibyte, 64 * kPage);
  options.paging.read_ahead_max = 0;
  MAKE_OR_SKIP(options);
  for (uint64_t i = 0; i < 512; ++i) Write(i, i + 1);
  ASSERT_EQ(arena_->residency(3 * kPage), Residency::kSwapped);
  trouble_->lying_reads = 1'000'000;
  EXPECT_FALSE(CanRead(3)) << "SIGSEGV, which a guarded access turns into a result";
  trouble_->lying_reads = 0;
  EXPECT_FALSE(CanRead(3)) << "lost contents stay lost";
  EXPECT_EQ(arena_->residency(3 * kPage), Residency::kBroken);
  EXPECT_EQ(adapter_->Access(3 * kPage, kPage, false, [](auto, auto) {}), 0u);
  EXPECT_TRUE(adapter_->was_refused());
  for (uint64_t i = 0; i < 512; ++i) {
    ASSERT_TRUE(i == 3 || Read(i) == i + 1) << i;
  }
  EXPECT_GE(arena_->report().cpu_refused, 1u);
  arena_->Discard(3 * kPage, kPage);
  for (int i = 0; i < 5000 && arena_->residency(3 * kPage) == Residency::kBroken; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(Read(3), 0u) << "usable again after Discard";
}

TEST_P(ArenaTroubleThreads, IsDestroyedWhileThreadsWait) {
  MAKE_OR_SKIP(Options(2 * kMebibyte, 64 * kPage));
  for (uint64_t i = 0; i < 512; ++i) Write(i, i + 1);
  trouble_->delay_us = 60'000'000;
  std::atomic<int> refused = 0;
  std::vector<std::thread> program;
  for (uint64_t i = 0; i < 4; ++i) program.emplace_back([&, i] { refused += !CanRead(i); });
  std::this_thread::sleep_for(milliseconds(50));
  arena_.reset();
  for (std::thread& thread : program) thread.join();
  EXPECT_EQ(refused, 4);
}

TEST_P(ArenaTroubleThreads, ThreadsWithAFailingStoreAndAChangingBudget) {
  constexpr uint64_t kSize = 16 * kMebibyte;
  ArenaOptions options = Options(kSize, kSize / 4);
  options.paging.read_attempts = 1000;
  options.paging.retry_first = Milliseconds(1);
  options.paging.retry_max = Milliseconds(4);
  options.paging.patience = Seconds(60);
  MAKE_OR_SKIP(options);
  Stamped stamped(words_, kSize / kPage);
  std::atomic<bool> stops = false;
  std::vector<std::thread> threads;
  for (int order = 0; order < 3; ++order) {
    threads.emplace_back([&, order] {
      Random random(static_cast<uint64_t>(order));
      uint64_t page = 0;
      while (!stops) {
        page = NextPage(random, order, stamped.pages(), page);
        stamped.Touch(page, random.Chance(1, 2));
      }
    });
  }
  Random random(5);
  for (int i = 0; i < 150; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    trouble_->failing_reads = static_cast<int>(random.Below(4));
    trouble_->failing_writes = static_cast<int>(random.Below(4));
    trouble_->no_room_writes = static_cast<int>(random.Below(4));
    trouble_->short_reads = static_cast<int>(random.Below(2));
    trouble_->is_full = random.Chance(1, 8);
    trouble_->delay_us = random.Chance(1, 4) ? 1000 : 0;
    arena_->SetBudget(kSize / random.Between(2, 16));
  }
  trouble_->is_full = false;
  stops = true;
  for (std::thread& thread : threads) thread.join();
  for (uint64_t page = 0; page < stamped.pages(); ++page) stamped.Touch(page, false);
  EXPECT_EQ(stamped.wrong(), 0u);
  EXPECT_EQ(arena_->report().paging.broken, 0u);
  EXPECT_GT(arena_->report().swap.failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Views, ArenaTroubleThreads,
                         testing::Values(CpuViewKind::kUserfault, CpuViewKind::kSignal), NameOf);

}  // namespace
}  // namespace verbena::managed
