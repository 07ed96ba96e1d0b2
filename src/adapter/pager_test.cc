#include "adapter/pager.h"

#include <sys/mman.h>

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "memory/signal_guard.h"

namespace verbena::adapter {
namespace {

constexpr uint64_t kPage = 4'096;

class PagerThreads : public testing::Test {
 protected:
  void SetUp() override {
    memory::SignalGuard::Install();
    void* const place =
        mmap(nullptr, 64 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    memory_ = static_cast<std::byte*>(place);
  }
  void TearDown() override { munmap(memory_, 64 * kPage); }

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
    while (done.size() < count) {
      if (pager.has_done()) pager.TakeDone(done);
      std::this_thread::yield();
    }
    return done;
  }

  std::byte* memory_ = nullptr;
};

TEST_F(PagerThreads, BringsPagesAndTells) {
  std::atomic<int> told = 0;
  Pager pager(2, BestPopulateMethod(), [&] { ++told; });
  EXPECT_FALSE(pager.has_done());
  for (uint64_t i = 0; i < 8; ++i) pager.Submit(Job(i * 8, 8, i));
  const std::vector<PageJob> done = WaitFor(pager, 8);
  uint64_t tickets = 0;
  for (const PageJob& job : done) {
    EXPECT_EQ(job.brought, 8U);
    tickets |= 1U << job.request.ticket.value();
  }
  EXPECT_EQ(tickets, 0xFFU);
  EXPECT_FALSE(pager.has_done());
  pager.Stop();
  EXPECT_EQ(told, 8);
}

TEST_F(PagerThreads, SaysWhatIsNotToBeHad) {
  munmap(memory_ + 10 * kPage, kPage);
  Pager pager(1, BestPopulateMethod(), [] {});
  pager.Submit(Job(10, 1, 0));
  EXPECT_EQ(WaitFor(pager, 1)[0].brought, 0U);
}

TEST_F(PagerThreads, GoesOnWithTheBeginningIfTheEndIsMissing) {
  munmap(memory_ + 10 * kPage, kPage);
  Pager pager(1, BestPopulateMethod(), [] {});
  pager.Submit(Job(8, 3, 0));
  EXPECT_EQ(WaitFor(pager, 1)[0].brought, 2U);
}

// Jobs that come while a thread stays awake, while it goes to sleep, and when it sleeps.
TEST_F(PagerThreads, LosesNoJobWhileItGoesToSleep) {
  Pager pager(2, BestPopulateMethod(), [] {});
  for (uint64_t i = 0; i < 600; ++i) {
    for (uint64_t job = 0; job <= i % 3; ++job) pager.Submit(Job(job, 1, job));
    EXPECT_EQ(WaitFor(pager, i % 3 + 1).size(), i % 3 + 1);
    const auto pause = std::chrono::nanoseconds(i * 200);  // up to 120 us
    for (const auto end = std::chrono::steady_clock::now() + pause;
         std::chrono::steady_clock::now() < end;) {
    }
  }
}

TEST_F(PagerThreads, StopsWithWorkLeft) {
  Pager pager(1, BestPopulateMethod(), [] {});
  for (uint64_t i = 0; i < 64; ++i) pager.Submit(Job(i, 1, i));
}

}  // namespace
}  // namespace verbena::adapter
