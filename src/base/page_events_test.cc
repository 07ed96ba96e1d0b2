#include "base/page_events.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace verbena {
namespace {

constexpr uint64_t kPage = 4'096;

class PageEventsThreads : public testing::Test {
 protected:
  void SetUp() override {
    events_ = PageEvents::Open(PageEvents::Scope::kAny, why_not_);
    if (events_ == nullptr) GTEST_SKIP() << "no userfaultfd here: " << why_not_;
    start_ = static_cast<std::byte*>(
        mmap(nullptr, 16 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(start_, 1, 16 * kPage);
  }
  void TearDown() override {
    events_.reset();
    if (start_ != nullptr) munmap(start_, 16 * kPage);
  }

  uint64_t At(uint64_t page) const { return reinterpret_cast<uintptr_t>(start_) + page * kPage; }
  // When the program's call returns, the reader has read the event, and puts it into the ring next.
  std::vector<Interval> TakeSome(size_t count) {
    std::vector<Interval> taken;
    const Time end = Now() + Seconds(10);
    while (taken.size() < count && Now() < end) {
      if (!events_->has_events()) continue;
      events_->Take([&](uint64_t first, uint64_t last) { taken.push_back({first, last}); });
    }
    return taken;
  }

  std::string why_not_;
  std::unique_ptr<PageEvents> events_;
  std::byte* start_ = nullptr;
};

TEST_F(PageEventsThreads, ReportsReleasedMemory) {
  ASSERT_TRUE(events_->Watch(At(0), 16 * kPage));
  EXPECT_FALSE(events_->has_events());
  madvise(start_ + 2 * kPage, 2 * kPage, MADV_DONTNEED);
  munmap(start_ + 8 * kPage, kPage);
  const std::vector<Interval> expected = {{At(2), At(4) - 1}, {At(8), At(9) - 1}};
  EXPECT_EQ(TakeSome(2), expected);
}

TEST_F(PageEventsThreads, MemoryThatIsMovedAwayIsReported) {
  ASSERT_TRUE(events_->Watch(At(0), 16 * kPage));
  void* const there = mremap(start_ + 4 * kPage, kPage, 2 * kPage, MREMAP_MAYMOVE);
  ASSERT_NE(there, MAP_FAILED);
  const std::vector<Interval> expected = {{At(4), At(5) - 1}};
  EXPECT_EQ(TakeSome(1), expected);
  munmap(there, 2 * kPage);
}

TEST_F(PageEventsThreads, PageFaultsOfTheProgramAreItsOwn) {
  ASSERT_TRUE(events_->Watch(At(0), 16 * kPage));
  madvise(start_, 16 * kPage, MADV_DONTNEED);
  EXPECT_EQ(TakeSome(1).size(), 1U);
  std::memset(start_, 2, 16 * kPage);
  EXPECT_EQ(start_[5 * kPage], std::byte{2});
  EXPECT_FALSE(events_->has_events());
}

TEST_F(PageEventsThreads, SharedMemoryIsReportedAndFilesAreNot) {
  void* const shared =
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  EXPECT_TRUE(events_->Watch(reinterpret_cast<uintptr_t>(shared), kPage));
  munmap(shared, kPage);
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  void* const mapped = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_FALSE(events_->Watch(reinterpret_cast<uintptr_t>(mapped), kPage));
  munmap(mapped, kPage);
  close(file);
}

TEST_F(PageEventsThreads, WithoutRoomAllPagesAreDoubtful) {
  ASSERT_TRUE(events_->Watch(At(0), 16 * kPage));
  for (int i = 0; i < 1'100; ++i) madvise(start_, kPage, MADV_DONTNEED);
  const auto taken = TakeSome(1'025);
  ASSERT_FALSE(taken.empty());
  EXPECT_EQ(taken[0], (Interval{0, ~uint64_t{0}}));
}

// A forked child has the file open, too.
TEST_F(PageEventsThreads, NoThreadWaitsForAReaderThatEnded) {
  ASSERT_TRUE(events_->Watch(At(0), 16 * kPage));
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  events_.reset();
  EXPECT_EQ(madvise(start_, kPage, MADV_DONTNEED), 0);
  EXPECT_EQ(munmap(start_ + kPage, kPage), 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace verbena
