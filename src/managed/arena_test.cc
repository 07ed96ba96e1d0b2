#include "managed/arena.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/arena_fixture.h"

namespace verbena::managed {
namespace {

using std::chrono::milliseconds;

using ArenaThreads = ArenaFixture;

TEST_P(ArenaThreads, ReadsBackWhatWasWritten) {
  MAKE_OR_SKIP(Options(kMebibyte, kMebibyte));
  EXPECT_EQ(Read(7), 0u);
  Write(7, 5);
  EXPECT_EQ(Read(7), 5u);
  EXPECT_EQ(arena_->residency(7 * kPage), Residency::kInMemory);
  EXPECT_EQ(arena_->residency(9 * kPage), Residency::kAbsent);
}

TEST_P(ArenaThreads, MoreThanTheBudgetIsPagedInAndOut) {
  constexpr uint64_t kPages = 1024;
  MAKE_OR_SKIP(Options(kPages * kPage, kPages / 4 * kPage));
  ResidentPeak peak(*arena_);
  for (uint64_t i = 0; i < kPages; ++i) Write(i, i + 1);
  for (uint64_t i = 0; i < kPages; ++i) ASSERT_EQ(Read(i), i + 1);
  EXPECT_LE(peak.Stop(), kPages / 4 * kPage);
  const ArenaReport report = arena_->report();
  EXPECT_GT(report.swap.stored, kPages / 2);
  EXPECT_GT(report.swap.loaded, kPages / 2);
  EXPECT_GT(report.cpu_faults, 0u);
  EXPECT_EQ(arena_->residency(0), Residency::kSwapped);
}

TEST_P(ArenaThreads, BothViewsShowEachOthersWrites) {
  constexpr uint64_t kPages = 512;
  MAKE_OR_SKIP(Options(kPages * kPage, kPages / 4 * kPage));
  for (uint64_t i = 0; i < kPages; ++i) Write(i, i + 1);
  for (uint64_t i = 0; i < kPages; ++i) {
    bool is_done = false;
    while (!is_done) {
      adapter_->Access(i * kPage, 8, true, [&](std::byte* at, uint64_t length) {
        if (length < 8) return;
        uint64_t value = 0;
        std::memcpy(&value, at, 8);
        EXPECT_EQ(value, i + 1);
        value += kPages;
        std::memcpy(at, &value, 8);
        is_done = true;
      });
    }
  }
  for (uint64_t i = 0; i < kPages; ++i) ASSERT_EQ(Read(i), i + 1 + kPages);
}

TEST_P(ArenaThreads, ARequestBeyondTheBudgetIsServedInParts) {
  constexpr uint64_t kPages = 256;
  MAKE_OR_SKIP(Options(kPages * kPage, 64 * kPage));
  uint64_t done = 0;
  int parts = 0;
  while (done < kPages * kPage) {
    done += adapter_->Access(done, kPages * kPage - done, true, [&](std::byte* at, uint64_t n) {
      std::memset(at, 3, n);
      ++parts;
    });
  }
  EXPECT_GT(parts, 3);
  for (uint64_t i = 0; i < kPages; ++i) ASSERT_EQ(Read(i), 0x0303030303030303u);
}

TEST_P(ArenaThreads, TheBudgetMayChange) {
  constexpr uint64_t kPages = 1024;
  MAKE_OR_SKIP(Options(kPages * kPage, kPages * kPage));
  for (uint64_t i = 0; i < kPages; ++i) Write(i, i);
  EXPECT_EQ(arena_->resident_bytes(), kPages * kPage);
  arena_->SetBudget(64 * kPage);
  for (int i = 0; i < 5000 && arena_->resident_bytes() > 64 * kPage; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_LE(arena_->resident_bytes(), 64 * kPage);
  arena_->SetBudget(kPages * kPage);
  for (uint64_t i = 0; i < kPages; ++i) ASSERT_EQ(Read(i), i);
  EXPECT_EQ(arena_->report().budget_bytes, kPages * kPage);
}

TEST_P(ArenaThreads, DiscardedGranulesAreZero) {
  MAKE_OR_SKIP(Options(kMebibyte, kMebibyte));
  for (uint64_t i = 0; i < 256; ++i) Write(i, 1);
  arena_->Discard(10 * kPage + 1, 20 * kPage);
  for (int i = 0; i < 5000 && arena_->resident_bytes() > 237 * kPage; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(Read(10), 1u) << "only whole granules";
  EXPECT_EQ(Read(11), 0u);
  EXPECT_EQ(Read(29), 0u);
  EXPECT_EQ(Read(30), 1u);
}

TEST_P(ArenaThreads, ResidencyMapCountsEachGranule) {
  MAKE_OR_SKIP(Options(kMebibyte, kMebibyte));
  for (uint64_t i = 64; i < 128; ++i) Write(i, 1);
  const std::vector<ResidencyCell> map = arena_->ResidencyMap(4);
  ASSERT_EQ(map.size(), 4u);
  EXPECT_EQ(map[1].in_memory, 64u);
  EXPECT_EQ(map[0].absent + map[0].in_memory, 64u);
  EXPECT_EQ(map[3].absent, 64u);
  // Fewer granules than cells.
  EXPECT_EQ(arena_->ResidencyMap(1000).size(), 1000u);
}

TEST_P(ArenaThreads, AHundredGigabytesCostNothingUntilUsed) {
  constexpr uint64_t kSize = uint64_t{100} << 30;
  MAKE_OR_SKIP(Options(kSize, kMebibyte));
  const uint64_t last = kSize / kPage - 1;
  for (uint64_t i = 0; i < 1000; ++i) Write(last - i * 1001, i);
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(Read(last - i * 1001), i);
  EXPECT_LE(arena_->resident_bytes(), kMebibyte);
}

TEST_P(ArenaThreads, LargeGranules) {
  ArenaOptions options = Options(64 * kMebibyte, 32 * kMebibyte);
  options.granule = PageShift(21);
  MAKE_OR_SKIP(options);
  ResidentPeak peak(*arena_);
  for (uint64_t page = 0; page < 64 * 256; page += 64) Write(page, page);
  for (uint64_t page = 0; page < 64 * 256; page += 64) ASSERT_EQ(Read(page), page);
  EXPECT_LE(peak.Stop(), 32 * kMebibyte);
}

TEST_P(ArenaThreads, ManyThreadsAndTheAdapterInFourTimesTheBudget) {
  constexpr uint64_t kSize = 64 * kMebibyte;
  constexpr uint64_t kBudget = 16 * kMebibyte;
  MAKE_OR_SKIP(Options(kSize, kBudget));
  const uint64_t granule = arena_->granule().bytes();
  Stamped stamped(words_, kSize / kPage);
  std::atomic<bool> stops = false;
  std::atomic<uint64_t> touched = 0;
  ResidentPeak peak(*arena_);
  std::vector<std::thread> threads;
  for (int order = 0; order < 3; ++order) {
    threads.emplace_back([&, order] {
      Random random(static_cast<uint64_t>(order));
      uint64_t page = 0;
      while (!stops) {
        page = NextPage(random, order, stamped.pages(), page);
        stamped.Touch(page, random.Chance(1, 2));
        ++touched;
      }
    });
  }
  threads.emplace_back([&] {
    Random random(99);
    while (!stops) {
      const uint64_t page = random.Below(stamped.pages());
      const bool for_write = random.Chance(1, 2);
      // First the page's lock: the program's threads wait for the pager with it held, so the pager
      // must not wait for it.
      const std::lock_guard lock(stamped.lock(page));
      adapter_->Access(page * kPage, kPage, for_write, [&](std::byte* at, uint64_t length) {
        if (length == kPage) stamped.Use(reinterpret_cast<uint64_t*>(at), page, for_write);
      });
      ++touched;
    }
  });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  stops = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(peak.Stop(), kBudget + 4 * granule);
  for (uint64_t page = 0; page < stamped.pages(); ++page) stamped.Touch(page, false);
  EXPECT_EQ(stamped.wrong(), 0u);
  EXPECT_GT(touched, 1000u);
  const ArenaReport report = arena_->report();
  EXPECT_GT(report.swap.compressed, 0u);
  EXPECT_GT(report.swap.stored, report.swap.compressed);
  EXPECT_EQ(report.cpu_refused, 0u);
  RecordProperty("touched", std::to_string(touched));
}

INSTANTIATE_TEST_SUITE_P(Views, ArenaThreads,
                         testing::Values(CpuViewKind::kUserfault, CpuViewKind::kSignal), NameOf);

TEST(Arena, NamesTheOptionThatIsWrong) {
  const ArenaCallbacks callbacks{
      .on_ready = [](auto, const auto&) {}, .unmap_adapter = [](auto) {}, .on_store = {}};
  ArenaOptions options{
      .size = kMebibyte, .budget = kMebibyte, .swap = "/no/such/place", .now = Now};
  const auto arena = Arena::Make(options, callbacks);
  ASSERT_FALSE(arena);
  EXPECT_NE(arena.error().text.find("/no/such/place"), std::string::npos);
  options.swap = "/tmp";
  options.size = uint64_t{1} << 40;
  EXPECT_EQ(Arena::Make(options, callbacks).error().os_error, EINVAL) << "for granules of 4 KiB";
  options.granule = PageShift(22);
  EXPECT_EQ(Arena::Make(options, callbacks).error().os_error, EINVAL);
}

TEST(ResidentSumTest, KnowsTheCurrentSumAndThePeak) {
  ResidentSum sum;
  sum.Change(0, 5);  // of one arena
  sum.Change(0, 7);  // of another arena
  sum.Change(5, 1);
  EXPECT_EQ(sum.now(), 8u);
  EXPECT_EQ(sum.peak(), 12u);
  sum.Change(7, 10);
  EXPECT_EQ(sum.peak(), 12u);
}

TEST_P(ArenaThreads, IsInTheSumUntilItIsDestroyed) {
  ResidentSum sum;
  ArenaOptions options = Options(kMebibyte, kMebibyte);
  options.counted_in = &sum;
  MAKE_OR_SKIP(options);
  for (uint64_t i = 0; i < 64; ++i) Write(i, 1);
  for (int i = 0; i < 5000 && sum.now() < 64 * kPage; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GE(sum.now(), 64 * kPage);
  arena_.reset();
  EXPECT_EQ(sum.now(), 0u);
  EXPECT_GE(sum.peak(), 64 * kPage);
}

// For simulations, which decide when the pager runs.
TEST(ArenaRunOnceTest, WithoutAThreadItWorksInRunOnceOnly) {
  memory::SignalGuard::Install();
  int answers = 0;
  const ArenaCallbacks callbacks{
      .on_ready = [&](uint64_t, const Answer& answer) { answers += answer.has_value() ? 1 : 0; },
      .unmap_adapter = [](std::span<const std::span<std::byte>>) {}};
  const auto arena = Arena::Make({.size = 32 * 4096,
                                  .budget = 16 * 4096,
                                  .view = CpuViewKind::kSignal,
                                  .now = Now,
                                  .has_thread = false},
                                 callbacks);
  ASSERT_TRUE(arena.has_value());
  (*arena)->PageIn(0, 4096, true, 1);
  std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(answers, 0);
  (*arena)->RunOnce();
  EXPECT_EQ(answers, 1);
}

}  // namespace
}  // namespace verbena::managed
