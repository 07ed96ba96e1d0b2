#include "odp/pager.h"

#include <sys/mman.h>

#include <chrono>
#include <latch>
#include <vector>

#include <gtest/gtest.h>

#include "memory/copy/signal_guard.h"

namespace verbena::odp {
namespace {

constexpr uint64_t kPage = 4'096, kPages = 256;
// Pages that are paged in before the first answer.
constexpr uint64_t kFirst = 64;

class PagerThreads : public testing::Test {
 protected:
  void SetUp() override {
    memory::SignalGuard::Install();
    void* const place =
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    memory_ = static_cast<std::byte*>(place);
  }
  void TearDown() override { munmap(memory_, kPages * kPage); }

  PageJob Job(uint64_t page, uint64_t count, uint64_t ticket) const {
    PageJob job;
    job.request.ticket = transport::FaultTicket(ticket);
    job.request.fault.for_write = true;
    job.address = reinterpret_cast<uintptr_t>(memory_) + page * kPage;
    job.page_count = count;
    return job;
  }
  std::vector<PageJob> WaitFor(Pager& pager, size_t count) const {
    std::vector<PageJob> done;
    done.reserve(1024);
    while (done.size() < count) {
      if (pager.answers().has_done()) pager.answers().TakeDone(done);
      std::this_thread::yield();
    }
    return done;
  }

  std::byte* memory_ = nullptr;
};

TEST_F(PagerThreads, PagesInAndAnswers) {
  std::atomic<int> reported = 0;
  Pager pager({.threads = 2}, [&] { ++reported; });
  EXPECT_FALSE(pager.answers().has_done());
  for (uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(pager.Submit(Job(i * 8, 8, i)));
  const std::vector<PageJob> done = WaitFor(pager, 8);
  uint64_t tickets = 0;
  for (const PageJob& job : done) {
    EXPECT_EQ(job.paged_in, 8U);
    tickets |= 1U << job.request.ticket.value();
  }
  EXPECT_EQ(tickets, 0xFFU);
  EXPECT_FALSE(pager.answers().has_done());
  pager.Stop();
  EXPECT_EQ(reported, 8);
}

TEST_F(PagerThreads, AnswersThatPagesAreNotAvailable) {
  munmap(memory_ + 10 * kPage, kPage);
  Pager pager({.threads = 1}, [] {});
  EXPECT_TRUE(pager.Submit(Job(10, 1, 0)));
  EXPECT_EQ(WaitFor(pager, 1)[0].paged_in, 0U);
}

TEST_F(PagerThreads, AnswersWithTheFirstPagesIfTheLastAreNotAvailable) {
  munmap(memory_ + 10 * kPage, kPage);
  Pager pager({.threads = 1}, [] {});
  EXPECT_TRUE(pager.Submit(Job(8, 3, 0)));
  EXPECT_EQ(WaitFor(pager, 1)[0].paged_in, 2U);
}

TEST_F(PagerThreads, AnswersALongRequestWhenItsFirstPartIsResident) {
  Pager pager({.threads = 1}, [] {});
  EXPECT_TRUE(pager.Submit(Job(0, 3 * kFirst + 8, 7)));
  const std::vector<PageJob> done = WaitFor(pager, 4);
  uint64_t paged_in = 0;
  for (const PageJob& part : done) {
    EXPECT_EQ(part.is_ahead, paged_in > 0) << "its queue pair waits for the first part only";
    EXPECT_EQ(part.address, reinterpret_cast<uintptr_t>(memory_) + paged_in * kPage);
    EXPECT_EQ(part.request.fault.first_page, paged_in);
    paged_in += part.paged_in;
  }
  EXPECT_EQ(paged_in, 3 * kFirst + 8);
}

TEST_F(PagerThreads, TheRestOfALongRequestIsQueuedBehindOtherRequests) {
  std::latch is_submitted(1);
  // The pager thread waits in its first job until the others are submitted.
  Pager pager({.threads = 1, .threads_max = 1}, [&] { is_submitted.wait(); });
  EXPECT_TRUE(pager.Submit(Job(0, 1, 1)));
  EXPECT_TRUE(pager.Submit(Job(0, 2 * kFirst, 2)));
  EXPECT_TRUE(pager.Submit(Job(0, 1, 3)));
  is_submitted.count_down();
  std::vector<uint64_t> order;
  for (const PageJob& job : WaitFor(pager, 4)) order.push_back(job.request.ticket.value());
  EXPECT_EQ(order, (std::vector<uint64_t>{1, 2, 3, 2}));
}

TEST_F(PagerThreads, ALongRequestEndsWhereItsMemoryDoes) {
  munmap(memory_ + 100 * kPage, kPage);
  Pager pager({.threads = 1}, [] {});
  EXPECT_TRUE(pager.Submit(Job(0, kPages, 1)));
  const std::vector<PageJob> parts = WaitFor(pager, 2);
  EXPECT_EQ(parts[1].paged_in, 100 - kFirst);
  EXPECT_TRUE(pager.Submit(Job(0, 1, 2)));
  EXPECT_EQ(WaitFor(pager, 1)[0].request.ticket.value(), 2U) << "the rest was not paged in";
}

// Jobs that arrive while a thread spins, while it goes to sleep, and while it sleeps.
TEST_F(PagerThreads, LosesNoJobWhileItGoesToSleep) {
  Pager pager({.threads = 2}, [] {});
  for (uint64_t i = 0; i < 600; ++i) {
    for (uint64_t job = 0; job <= i % 3; ++job) EXPECT_TRUE(pager.Submit(Job(job, 1, job)));
    EXPECT_EQ(WaitFor(pager, i % 3 + 1).size(), i % 3 + 1);
    const auto pause = std::chrono::nanoseconds(i * 200);  // up to 120 us
    for (const auto end = std::chrono::steady_clock::now() + pause;
         std::chrono::steady_clock::now() < end;) {
    }
  }
}

TEST_F(PagerThreads, StopsWithJobsLeft) {
  Pager pager({.threads = 1}, [] {});
  for (uint64_t i = 0; i < 64; ++i) EXPECT_TRUE(pager.Submit(Job(i, 1, i)));
}

}  // namespace
}  // namespace verbena::odp
