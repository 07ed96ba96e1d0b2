#include "verbena/managed_memory.h"

#include <atomic>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

constexpr uint64_t kPage = 4'096, kSize = 512 * kPage, kBudget = 128 * kPage;
// The pager may be evicting this many bytes at a time.
constexpr uint64_t kSlack = kBudget / 8;

ManagedMemoryOptions Small(bool userfaults = true) {
  return {.size = kSize, .budget = kBudget, .swap = ::testing::TempDir(), .userfaults = userfaults};
}

// A peer `a`, and a program `b` with managed memory of four times its budget. With userfaultfd and
// with signals.
class ManagedMemoryTest : public testing::TestWithParam<bool> {
 protected:
  ManagedMemoryTest() { ConnectPair(a_, qa_, b_, qb_); }

  template <class Request>
  CompletionStatus Move(const Request& request) {
    EXPECT_TRUE(qa_.Post(request).has_value());
    return a_.WaitStatus().value_or(CompletionStatus::kGeneralError);
  }
  CompletionStatus WritePage(uint64_t page, const MemoryRegion& to) {
    return Move(Write{.data = a_.region.Local(0, kPage), .remote = to.Remote(page * kPage)});
  }
  CompletionStatus ReadPage(uint64_t page, const MemoryRegion& from) {
    return Move(Read{.data = a_.region.Local(kPage, kPage), .remote = from.Remote(page * kPage)});
  }
  uint64_t Resident() const { return Good(memory_.Query()).resident; }

  VerbsNode a_, b_;
  QueuePair qa_ = a_.MakeQp(), qb_ = b_.MakeQp();
  ManagedMemory memory_ = Good(ManagedMemory::Create(b_.context, Small(GetParam())));
  MemoryRegion region_ = Good(MemoryRegion::Register(b_.domain, memory_.bytes(), Access::kAll));
};

INSTANTIATE_TEST_SUITE_P(Userfaults, ManagedMemoryTest, testing::Bool());

TEST_P(ManagedMemoryTest, APeerWritesAndReadsMoreThanTheBudget) {
  Random random(7);
  std::vector<uint8_t> seeds(kSize / kPage);
  for (int i = 0; i < 2'000; ++i) {
    const uint64_t page = random.Below(seeds.size());
    seeds[page] = static_cast<uint8_t>(1 + i % 250);
    a_.Fill(0, kPage, seeds[page]);
    ASSERT_EQ(WritePage(page, region_), CompletionStatus::kSuccess) << page;
    if (i % 50 == 0) {
      ASSERT_LE(Resident(), kBudget + kSlack);
    }
  }
  for (uint64_t page = 0; page < seeds.size(); ++page) {
    ASSERT_EQ(ReadPage(page, region_), CompletionStatus::kSuccess) << page;
    ASSERT_TRUE(seeds[page] == 0 || a_.Holds(kPage, kPage, seeds[page])) << page;
  }
  const ManagedMemoryReport report = Good(memory_.Query());
  EXPECT_LE(report.resident, kBudget + kSlack);
  EXPECT_GT(report.pages_written, 0U);
  EXPECT_GT(report.pages_read, 0U);
  EXPECT_EQ(report.pages_lost, 0U);
  EXPECT_FALSE(report.noticed_by.empty());
  EXPECT_FALSE(report.stored_by.empty());
}

// The peer uses the first half of each page and the program the second, so that each knows the
// contents of its half.
TEST_P(ManagedMemoryTest, TheProgramAndAPeerUseItConcurrently) {
  std::atomic<bool> ends = false;
  std::atomic<uint64_t> wrong = 0, touched = 0;
  std::thread program([&] {
    Random random(11);
    std::vector<uint64_t> counts(kSize / kPage);
    while (!ends) {
      const uint64_t page = random.Below(counts.size());
      std::byte* const at = memory_.bytes().data() + page * kPage + kPage / 2;
      uint64_t seen = 0;
      std::memcpy(&seen, at, sizeof seen);
      if (seen != counts[page]) ++wrong;
      ++counts[page];
      std::memcpy(at, &counts[page], sizeof seen);
      ++touched;
    }
  });
  Random random(13);
  std::vector<uint8_t> seeds(kSize / kPage);
  for (int i = 0; i < 300; ++i) {
    const uint64_t page = random.Below(seeds.size());
    if (seeds[page] != 0) {
      EXPECT_EQ(Move(Read{.data = a_.region.Local(kPage, kPage / 2),
                          .remote = region_.Remote(page * kPage)}),
                CompletionStatus::kSuccess);
      EXPECT_TRUE(a_.Holds(kPage, kPage / 2, seeds[page])) << page;
    }
    seeds[page] = static_cast<uint8_t>(1 + i % 250);
    a_.Fill(0, kPage / 2, seeds[page]);
    EXPECT_EQ(
        Move(Write{.data = a_.region.Local(0, kPage / 2), .remote = region_.Remote(page * kPage)}),
        CompletionStatus::kSuccess);
  }
  ends = true;
  program.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(touched, 0U);
}

TEST_P(ManagedMemoryTest, OneMessageIsLargerThanTheBudget) {
  std::vector<std::byte> large(kSize);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::byte>(i * 13 + i / kPage);
  const MemoryRegion source = Good(MemoryRegion::Register(a_.domain, large, Access::kAll));
  EXPECT_EQ(Move(Write{.data = source.Local(0, kSize), .remote = region_.Remote()}),
            CompletionStatus::kSuccess);
  std::vector<std::byte> back(kSize);
  const MemoryRegion target = Good(MemoryRegion::Register(a_.domain, back, Access::kAll));
  EXPECT_EQ(Move(Read{.data = target.Local(0, kSize), .remote = region_.Remote()}),
            CompletionStatus::kSuccess);
  EXPECT_TRUE(back == large);
  EXPECT_LE(Resident(), kBudget + kSlack);
}

TEST_P(ManagedMemoryTest, TheBudgetChanges) {
  std::memset(memory_.bytes().data(), 5, kSize);
  Good(memory_.SetBudget(kBudget / 4));
  for (int i = 0; i < 200 && Resident() > kBudget / 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_LE(Resident(), kBudget / 4);
  Good(memory_.SetBudget(2 * kSize));
  for (uint64_t page = 0; page < kSize / kPage; ++page) {
    ASSERT_EQ(memory_.bytes()[page * kPage], std::byte{5});
  }
  EXPECT_EQ(Resident(), kSize);
  EXPECT_EQ(CodeOf(memory_.SetBudget(kPage)), ErrorCode::kInvalid);
}

TEST_P(ManagedMemoryTest, AdvicePagesIn) {
  std::memset(memory_.bytes().data(), 5, kSize);
  const auto place = [&](uint64_t page) { return Good(memory_.Places())[page]; };
  uint64_t page = 0;
  while (place(page) != PagePlace::kSwapped) ++page;
  Good(region_.Advise(page * kPage, kPage, Advice::kPrefetch, true));
  EXPECT_EQ(place(page), PagePlace::kInMemory);
  while (place(page) != PagePlace::kSwapped) ++page;
  Good(region_.Advise(page * kPage, kPage, Advice::kPrefetchNoFault, true));
  EXPECT_EQ(place(page), PagePlace::kSwapped);
}

TEST_P(ManagedMemoryTest, IsReachableThroughTheImplicitRegion) {
  const MemoryRegion all = Good(MemoryRegion::RegisterEverything(b_.domain, Access::kAll));
  const RemoteAddress there{reinterpret_cast<uintptr_t>(memory_.bytes().data()), all.r_key()};
  a_.memory[17] = std::byte{9};
  EXPECT_EQ(Move(Write{.data = a_.region.Local(0, kPage), .remote = there}),
            CompletionStatus::kSuccess);
  EXPECT_EQ(memory_.bytes()[17], std::byte{9});
}

TEST_P(ManagedMemoryTest, DiscardedPagesAreZero) {
  std::memset(memory_.bytes().data(), 5, kSize);
  Good(memory_.Discard(kPage, 2 * kPage));
  EXPECT_EQ(CodeOf(memory_.Discard(kSize, 1)), ErrorCode::kInvalid);
  ASSERT_EQ(ReadPage(1, region_), CompletionStatus::kSuccess);
  EXPECT_EQ(a_.memory[kPage + 17], std::byte{0});
  ASSERT_EQ(ReadPage(3, region_), CompletionStatus::kSuccess);
  EXPECT_EQ(a_.memory[kPage + 17], std::byte{5});
}

TEST_P(ManagedMemoryTest, CannotBeDestroyedWhileRegistered) {
  EXPECT_EQ(CodeOf(memory_.Destroy()), ErrorCode::kInUse);
  ASSERT_EQ(WritePage(0, region_), CompletionStatus::kSuccess);
  // Reregisters the same bytes, and then bytes that are not managed.
  Good(region_.Reregister({.access = Access::kLocal, .keep_keys = true}));
  EXPECT_EQ(CodeOf(memory_.Destroy()), ErrorCode::kInUse);
  Good(region_.Reregister({.bytes = std::span(b_.memory)}));
  Good(memory_.Destroy());
  EXPECT_FALSE(memory_);
  EXPECT_TRUE(memory_.bytes().empty());
}

TEST_P(ManagedMemoryTest, RefusesRegionsBeyondItsEndAndPageLists) {
  std::span<std::byte> bytes = memory_.bytes();
  const std::span<std::byte> beyond(bytes.data() + kPage, bytes.size());
  EXPECT_EQ(CodeOf(MemoryRegion::Register(b_.domain, beyond, Access::kAll)), ErrorCode::kInvalid);
  const uint64_t pages[] = {reinterpret_cast<uintptr_t>(bytes.data())};
  EXPECT_EQ(CodeOf(MemoryRegion::RegisterPages(b_.domain, {.pages = pages}, kPage, Access::kAll)),
            ErrorCode::kInvalid);
  const MemoryRegion part =
      Good(MemoryRegion::Register(b_.domain, bytes.subspan(100, 5'000), Access::kAll));
  a_.Fill(0, 5'000, 9);
  EXPECT_EQ(Move(Write{.data = a_.region.Local(0, 5'000), .remote = part.Remote()}),
            CompletionStatus::kSuccess);
  EXPECT_EQ(std::memcmp(bytes.data() + 100, a_.memory.data(), 5'000), 0);
}

TEST(ManagedMemoryOptionsTest, RefusesInvalidOptions) {
  const Context context = Good(Context::Open(VerbsTestOptions()));
  const auto code = [&](auto change) {
    ManagedMemoryOptions options = Small();
    change(options);
    return CodeOf(ManagedMemory::Create(context, options));
  };
  EXPECT_EQ(code([](auto& o) { o.size = 0; }), ErrorCode::kInvalid);
  EXPECT_EQ(code([](auto& o) { o.budget = kPage; }), ErrorCode::kInvalid);
  EXPECT_EQ(code([](auto& o) { o.page_bytes = 5'000; }), ErrorCode::kInvalid);
  EXPECT_EQ(code([](auto& o) { o.page_bytes = 1'024; }), ErrorCode::kInvalid);
  EXPECT_EQ(code([](auto& o) { o.swap = "/nonexistent/folder"; }), ErrorCode::kSystem);
  EXPECT_EQ(CodeOf(ManagedMemory::Create({}, Small())), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace verbena
