// How the engine requests pages from its page service, and what runs in the meantime.

#include <memory>

#include <gtest/gtest.h>

#include "adapter/loop/engine.h"
#include "memory/copy/signal_guard.h"
#include "tests/support/engine_world.h"
#include "tests/support/manual_pages.h"
#include "tests/support/pages.h"

namespace verbena::adapter {
namespace {

// Two connections within one engine; the test decides when pages are paged in.
class EnginePagesTest : public EngineWorld {
 protected:
  EnginePagesTest() : EngineWorld(SeededOptions(), std::make_unique<ManualPages>()) {
    memory::SignalGuard::Install();
    const EngineLock lock(engine_);
    a_ = &MakeQp(NumberAfterNext(1), cq_);
    b_ = &MakeQp(a_->number(), cq_);
    c_ = &MakeQp(NumberAfterNext(1), other_cq_);
    d_ = &MakeQp(c_->number(), other_cq_);
    const memory::RegionSpec spec{
        .pd = pd_, .start = KeyAddress(address_), .length = memory_.size(), .rights = Access::kAll};
    const auto keys = engine_.memory.regions.Register(
        spec, memory::LinearBacking{.base = memory::PhysicalAddress(address_)});
    remote_ = keys->remote;
  }
  ~EnginePagesTest() override {
    const EngineLock lock(engine_);
    for (QueuePair* const qp : {a_, b_, c_, d_}) engine_.RemoveQp(*qp);
  }

  ManualPages& pages() { return static_cast<ManualPages&>(*pages_); }
  // Writes an inline word to the page, so that only the responder needs pages.
  void Write(QueuePair& qp, uint64_t page) {
    queue::SendWorkRequest request;
    request.wqe.opcode = queue::SendOpcode::kWrite;
    request.wqe.operand = RemoteAddress{.address = address_ + page * 4'096, .key = remote_};
    request.wqe.flags.signaled = true;
    request.wqe.flags.inlined = true;
    const uint64_t word = 77;
    const Sge sge{.address = reinterpret_cast<uintptr_t>(&word), .length = sizeof word};
    request.sges = {&sge, 1};
    ASSERT_TRUE(qp.send_queue().Post(request).has_value());
    engine_.Kick(qp);
  }
  void RunPass() {
    const EngineLock lock(engine_);
    engine_.Pass();
  }
  static CompletionStatus StatusOf(Cq& cq) {
    Completion completion;
    EXPECT_EQ(cq.Poll({&completion, 1}), 1U);
    return completion.status;
  }

  memory::PagesForTest memory_{4};
  const uint64_t address_ = reinterpret_cast<uintptr_t>(memory_.data());
  Cq cq_{64, nullptr}, other_cq_{64, nullptr};
  QueuePair *a_ = nullptr, *b_ = nullptr, *c_ = nullptr, *d_ = nullptr;
  Key remote_;
};

TEST_F(EnginePagesTest, AWriteWaitsForItsPageAndOthersDoNot) {
  Write(*a_, 0);
  ASSERT_EQ(pages().waiting().size(), 1U);
  EXPECT_EQ(pages().waiting()[0].address, address_);
  RunPass();
  EXPECT_EQ(cq_.size(), 0U);

  Write(*c_, 1);
  ASSERT_EQ(pages().waiting().size(), 2U);
  pages().BringOldest();
  pages().BringOldest();
  RunPass();
  EXPECT_EQ(StatusOf(cq_), CompletionStatus::kSuccess);
  EXPECT_EQ(StatusOf(other_cq_), CompletionStatus::kSuccess);
}

TEST_F(EnginePagesTest, AConnectionContinuesWhileThePageOfAnotherIsStuck) {
  Write(*c_, 1);
  pages().BringOldest();
  RunPass();
  EXPECT_EQ(StatusOf(other_cq_), CompletionStatus::kSuccess);
  Write(*a_, 0);
  for (int i = 0; i < 100; ++i) {
    Write(*c_, 1);
    RunPass();
    EXPECT_EQ(StatusOf(other_cq_), CompletionStatus::kSuccess);
  }
  EXPECT_EQ(cq_.size(), 0U);
  EXPECT_EQ(pages().waiting().size(), 1U);
}

TEST_F(EnginePagesTest, APageMayArriveAfterItsQueuePairIsDestroyed) {
  Write(*a_, 0);
  ASSERT_EQ(pages().waiting().size(), 1U);
  const EngineLock lock(engine_);
  engine_.RemoveQp(*b_);
  pages().BringOldest();
  EXPECT_TRUE(engine_.Pass());
  EXPECT_EQ(engine_.counters().pages_refused, 0U);
  b_ = &MakeQp(a_->number(), cq_);
}

TEST_F(EnginePagesTest, APageThatCannotBePagedInIsAnAccessError) {
  Write(*a_, 0);
  pages().RefuseOldest();
  RunPass();
  EXPECT_EQ(StatusOf(cq_), CompletionStatus::kRemoteAccessError);
}

}  // namespace
}  // namespace verbena::adapter
