#include "adapter/objects/prefetcher.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "memory/memory_core.h"

namespace verbena::adapter {
namespace {

constexpr uint64_t kPage = 4'096;

// A region whose pages are all absent, and requests with buffers in it.
class PrefetcherTest : public testing::Test {
 protected:
  static constexpr uint64_t kBase = 0x7000'0000'0000;
  static constexpr uint64_t kPages = 256;

  // A buffer in the page with this number.
  Sge Buffer(uint64_t page) const { return {kBase + page * kPage, 100, keys_.local}; }
  template <class Queue>
  void PostReceive(Queue& queue, uint64_t page) {
    const Sge sge = Buffer(page);
    ASSERT_TRUE(queue.Post({.sges = {&sge, 1}}).has_value());
  }
  // The pages requested since the last call.
  std::vector<uint64_t> Requested() {
    std::vector<uint64_t> pages;
    for (const auto& request : outbox_.page_requests()) {
      EXPECT_EQ(request.qp, QpNumber(2));
      EXPECT_TRUE(request.fault.for_write);
      pages.push_back(request.fault.first_page);
    }
    outbox_.Clear();
    return pages;
  }

  memory::MemoryCore core_;
  const memory::PdId pd_ = *core_.domains.Allocate(*core_.consumers.Open({}));
  const memory::RegionKeys keys_ =
      *core_.regions.Register({.pd = pd_,
                               .start = KeyAddress(kBase),
                               .length = kPages * kPage,
                               .rights = Access::kLocalRead | Access::kLocalWrite},
                              memory::LinearBacking{memory::PhysicalAddress(kBase)});
  transport::Outbox outbox_{64};
  transport::Step step_{Time(), core_, outbox_};
  Prefetcher prefetcher_{QpNumber(2), pd_, 2};
};

TEST_F(PrefetcherTest, AnotherRoundContinuesAfterTheCheckedRequests) {
  queue::ReceiveQueue queue({.capacity = 2, .sges_max = 1});
  PostReceive(queue, 0);
  PostReceive(queue, 1);
  prefetcher_.AtReceives(queue, step_);
  EXPECT_EQ(Requested(), (std::vector<uint64_t>{0, 1}));
  EXPECT_FALSE(prefetcher_.prefetches_receives());
  queue.Retire(queue.begin());
  PostReceive(queue, 2);
  prefetcher_.BeginRound(queue);
  EXPECT_TRUE(prefetcher_.prefetches_receives());
  prefetcher_.AtReceives(queue, step_);
  EXPECT_EQ(Requested(), (std::vector<uint64_t>{2}));
}

TEST_F(PrefetcherTest, ASharedQueueIsCheckedByAnyOfItsQueuePairsAndOnce) {
  Srq srq(4, 1, pd_);
  for (uint64_t i = 0; i < 3; ++i) PostReceive(srq, i);
  prefetcher_.AtReceives(srq, step_);
  EXPECT_EQ(Requested(), (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(srq.looks.left, 1U);
  Prefetcher(QpNumber(3), pd_, 0).AtReceives(srq, step_);
  EXPECT_TRUE(Requested().empty());
  PostReceive(srq, 3);
  prefetcher_.AtReceives(srq, step_);
  EXPECT_EQ(Requested(), (std::vector<uint64_t>{3}));
  EXPECT_EQ(srq.looks.left, 0U) << "a round";
}

TEST_F(PrefetcherTest, OnlyTheOldestOfALongSharedQueue) {
  Srq srq(kPages, 1, pd_);
  for (uint64_t i = 0; i < kPages; ++i) PostReceive(srq, i);
  prefetcher_.AtReceives(srq, step_);
  const auto first = Requested();
  ASSERT_EQ(first.size(), 64U);
  EXPECT_EQ(first.back(), 63U);
  // It continues when half of them are taken, with as many at a time.
  const auto take = [&](int count) {
    for (int i = 0; i < count; ++i) srq.Give(srq.Take()->handle);
    prefetcher_.AtReceives(srq, step_);
    return Requested();
  };
  EXPECT_TRUE(take(32).empty());
  const auto second = take(1);
  ASSERT_EQ(second.size(), 33U);
  EXPECT_EQ(second.front(), 64U);
  EXPECT_EQ(second.back(), 96U);
}

TEST_F(PrefetcherTest, RequestsTakenMeanwhileAreSkipped) {
  Srq srq(4, 1, pd_);
  for (uint64_t i = 0; i < 4; ++i) PostReceive(srq, i);
  srq.Give(srq.Take()->handle);
  srq.Give(srq.Take()->handle);
  prefetcher_.AtReceives(srq, step_);
  EXPECT_EQ(Requested(), (std::vector<uint64_t>{2, 3}));
  Prefetcher::BeginRound(srq);
  EXPECT_EQ(srq.looks.left, 4U);
  prefetcher_.AtReceives(srq, step_);
  EXPECT_TRUE(Requested().empty()) << "those that are posted have been looked at";
}

TEST_F(PrefetcherTest, AResizedSharedQueueIsCheckedFromTheSamePosition) {
  Srq srq(2, 1, pd_);
  PostReceive(srq, 0);
  PostReceive(srq, 1);
  srq.Give(srq.Take()->handle);
  prefetcher_.AtReceives(srq, step_);
  EXPECT_EQ(Requested(), (std::vector<uint64_t>{1}));
  ASSERT_TRUE(srq.Resize(8).has_value());
  PostReceive(srq, 2);
  prefetcher_.AtReceives(srq, step_);
  EXPECT_EQ(Requested(), (std::vector<uint64_t>{2}));
}

// Its buffers belong to its own domain, whatever the domain of the queue pair.
TEST_F(PrefetcherTest, ASharedQueueUsesItsOwnProtectionDomain) {
  Srq srq(1, 1, pd_);
  PostReceive(srq, 5);
  const memory::PdId other = *core_.domains.Allocate(*core_.consumers.Open({}));
  Prefetcher(QpNumber(2), other, 0).AtReceives(srq, step_);
  EXPECT_EQ(Requested(), (std::vector<uint64_t>{5}));
}

}  // namespace
}  // namespace verbena::adapter
