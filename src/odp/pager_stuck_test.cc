// Stuck pages, and how the pager still serves other pages.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "memory/copy/signal_guard.h"
#include "odp/pager.h"
#include "tests/support/stuck_pages.h"

namespace verbena::odp {
namespace {

constexpr uint64_t kGood = 200, kPages = 256;  // pages from kGood on are available
constexpr auto kUserMode = StuckPages::Faults::kOfUserMode;

class PagerStuckThreads : public testing::Test {
 protected:
  void SetUp() override {
    if (!StuckPages::IsAllowed(kUserMode)) GTEST_SKIP() << "no userfaultfd";
    memory::SignalGuard::Install();
    done_.reserve(1'024);
    pages_.emplace(kPages, kUserMode);
    pages_->Stick(0, kGood);
  }

  // Pages in by touching, for which an ordinary user's userfaultfd is enough.
  static PagerOptions With(uint32_t threads, uint32_t threads_max) {
    return {.threads = threads, .threads_max = threads_max, .method = PopulateMethod::kTouch};
  }
  PageJob Job(uint64_t page, bool is_ahead = false) const {
    PageJob job;
    job.request.ticket = transport::FaultTicket(page);
    job.request.fault.for_write = true;
    job.address = pages_->address(page);
    job.page_count = 1;
    job.is_ahead = is_ahead;
    return job;
  }
  // Whether the page is paged in within ten seconds.
  bool Comes(Pager& pager, uint64_t page) {
    return Becomes([&] {
      pager.answers().TakeDone(done_);
      return std::ranges::any_of(done_, [&](const PageJob& job) {
        return job.request.ticket.value() == page && job.paged_in == 1;
      });
    });
  }
  template <class Condition>
  static bool Becomes(Condition condition) {
    for (const Time end = Now() + Seconds(10); Now() < end; usleep(100)) {
      if (condition()) return true;
    }
    return false;
  }

  std::optional<StuckPages> pages_;
  std::vector<PageJob> done_;
};

TEST_F(PagerStuckThreads, StuckPagesDoNotStopOthers) {
  for (const uint64_t stuck : {1U, 2U, 3U, 40U}) {
    pages_.emplace(kPages, kUserMode);
    pages_->Stick(0, kGood);
    done_.clear();
    Pager pager(With(2, 64), [] {});
    for (uint64_t i = 0; i < stuck; ++i) ASSERT_TRUE(pager.Submit(Job(i)));
    ASSERT_TRUE(pager.Submit(Job(kGood)));
    EXPECT_TRUE(Comes(pager, kGood)) << stuck << " are stuck";
    EXPECT_EQ(done_.size(), 1U);
    EXPECT_LE(pager.thread_count(), stuck + 3);
    pages_->Release();
    for (uint64_t i = 0; i < stuck; ++i) EXPECT_TRUE(Comes(pager, i));
  }
}

// Once more threads run, a fault does not wait until it is overdue.
TEST_F(PagerStuckThreads, AFaultBesideStuckPagesIsServedAtOnce) {
  Pager pager(With(2, 64), [] {});
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(pager.Submit(Job(i)));
  ASSERT_TRUE(pager.Submit(Job(kGood)));
  ASSERT_TRUE(Comes(pager, kGood));
  Duration best = Duration::Max();
  for (uint64_t page = kGood + 1; page < kPages; ++page) {
    const Time start = Now();
    ASSERT_TRUE(pager.Submit(Job(page)));
    ASSERT_TRUE(Comes(pager, page));
    best = std::min(best, Now() - start);
  }
  EXPECT_LT(best, Pager::kPatience);
  pages_->Release();
}

TEST_F(PagerStuckThreads, TheLimitIsReportedOnce) {
  std::atomic<int> reported = 0;
  std::string warning;
  PagerOptions options = With(1, 3);
  options.on_limit = [&](const std::string& words) {
    warning = words;
    ++reported;
  };
  Pager pager(options, [] {});
  for (uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(pager.Submit(Job(i)));
  ASSERT_TRUE(pager.Submit(Job(kGood)));
  EXPECT_TRUE(Becomes([&] { return reported == 1; }));
  EXPECT_EQ(pager.thread_count(), 3U);
  EXPECT_NE(warning.find("all 3 pager threads"), std::string::npos) << warning;
  EXPECT_NE(warning.find("pager_threads_max"), std::string::npos) << warning;
  EXPECT_FALSE(pager.answers().has_done());
  pages_->Release();
  EXPECT_TRUE(Comes(pager, kGood));
  EXPECT_EQ(reported, 1);
}

TEST_F(PagerStuckThreads, ThreadsThatAreNotNeededEnd) {
  PagerOptions options = With(2, 64);
  options.idle_max = Milliseconds(20);
  Pager pager(options, [] {});
  for (const int round : {1, 2}) {
    pages_->Stick(0, kGood);
    for (uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(pager.Submit(Job(i)));
    EXPECT_TRUE(Becomes([&] { return pager.thread_count() > 10; })) << "round " << round;
    pages_->Release();
    EXPECT_TRUE(Becomes([&] { return pager.thread_count() == 2; })) << "round " << round;
  }
}

TEST_F(PagerStuckThreads, PagesThatNothingWaitsForHoldFewThreads) {
  Pager pager(With(2, 64), [] {});
  for (uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(pager.Submit(Job(i, true)));
  ASSERT_TRUE(pager.Submit(Job(kGood)));
  EXPECT_TRUE(Comes(pager, kGood));
  usleep(20'000);  // time in which it could start more
  EXPECT_LE(pager.thread_count(), 2U + 2U);
  pages_->Release();
  for (uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(Comes(pager, i));
}

// As on a busy machine: jobs wait although no thread is stuck.
TEST_F(PagerStuckThreads, ALongQueueAloneStartsNoThreads) {
  pages_->Release();
  Pager pager(With(1, 64), [] { usleep(300); });
  for (uint64_t i = 0; i < kPages; ++i) ASSERT_TRUE(pager.Submit(Job(i)));
  EXPECT_TRUE(Comes(pager, kPages - 1));
  EXPECT_LE(pager.thread_count(), 16U) << "a few, if the machine stops this process for long";
}

}  // namespace
}  // namespace verbena::odp
