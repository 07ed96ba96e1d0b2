#include "transport/uc/uc_responder.h"

#include <sys/mman.h>

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/uc_fixture.h"

namespace verbena::transport {
namespace {
using queue::SendOpcode;

// Messages that meet absent pages. The rest of the responder is tested in uc_qp_test.cc.
class UcResponderTest : public UcFixture {
 protected:
  void Serve() {
    ASSERT_FALSE(requests_.empty());
    PagesReady(requests_.back().ticket, true);
    RunAll(*qp_);
  }
};

TEST_F(UcResponderTest, AMessageThatWaitsForPagesDelaysLaterOnes) {
  const Bytes before = Written(3 * kMtu);
  PostReceive(1, 4096);
  Evict(1);
  Write(SendOpcode::kWrite, 3 * kMtu);
  Send(SendOpcode::kSend, 8);
  DeliverAll();
  EXPECT_EQ(requests_.size(), 1u);
  EXPECT_EQ(Written(3 * kMtu), before);
  EXPECT_TRUE(Poll(receive_cq_).empty());
  Restore(1);
  Serve();
  EXPECT_EQ(Written(3 * kMtu), BytesAt(0, 3 * kMtu));
  EXPECT_EQ(OneReceive().byte_count, 8u);
  EXPECT_EQ(counters().pages_absent, 0u);
  EXPECT_EQ(counters().out_of_sequence, 0u);
}

TEST_F(UcResponderTest, AMessageMayWaitInItsMiddleAndAgain) {
  PostReceive(1, 2 * memory::kPage);
  PostSend({}, {SgeOf(0, 2 * memory::kPage)});
  RunAll(*qp_);
  Deliver(0);
  Evict(kReceivePage);
  Evict(kReceivePage + 1);
  for (size_t i = 1; i < packets_.size(); ++i) Deliver(i);
  for (const uint64_t page : {kReceivePage, kReceivePage + 1}) {
    EXPECT_TRUE(Poll(receive_cq_).empty());
    Restore(page);
    Serve();
  }
  EXPECT_EQ(requests_.size(), 2u);
  EXPECT_EQ(OneReceive().byte_count, 2 * memory::kPage);
  EXPECT_EQ(Received(2 * memory::kPage), BytesAt(0, 2 * memory::kPage));
}

TEST_F(UcResponderTest, ARunServesABoundedNumberOfHeldPackets) {
  Evict(1);
  Write(SendOpcode::kWrite, 8);
  for (int i = 0; i < 100; ++i) DeliverAll();
  Restore(1);
  PagesReady(requests_[0].ticket, true);
  EXPECT_TRUE(RunOnce(*qp_));
  EXPECT_FALSE(RunOnce(*qp_));
}

TEST_F(UcResponderTest, HeldPacketsAreBounded) {
  Evict(1);
  Write(SendOpcode::kWrite, kMtu);
  const size_t fit = HeldPackets::kBytesMax / packets_[0].size();
  for (size_t i = 0; i < fit; ++i) Deliver(0);
  EXPECT_EQ(counters().pages_absent, 0u);
  Deliver(0);
  EXPECT_EQ(counters().pages_absent, 1u);
  Restore(1);
  Serve();
  EXPECT_EQ(Written(kMtu), BytesAt(0, kMtu));
}

TEST_F(UcResponderTest, PagesThatMayBePresentAreRequestedUrgently) {
  PostReceive(1, 4096);
  Evict(1);
  Evict(kReceivePage);
  Write(SendOpcode::kWrite, 2 * kMtu);
  Send(SendOpcode::kSend, 8);
  DeliverAll();
  RunWithResidentPages(*qp_);
  EXPECT_EQ(Written(2 * kMtu), BytesAt(0, 2 * kMtu));
  EXPECT_EQ(OneReceive().status, CompletionStatus::kSuccess);
}

TEST_F(UcResponderTest, UnavailablePagesOfAWriteDropItAndNotTheNext) {
  PostReceive(1, 4096);
  Evict(1);
  Write(SendOpcode::kWrite, 2 * kMtu);
  Send(SendOpcode::kSend, 8);
  DeliverAll();
  ASSERT_EQ(requests_.size(), 1u);
  PagesReady(requests_[0].ticket, false);
  RunAll(*qp_);
  EXPECT_EQ(counters().pages_absent, 1u);
  EXPECT_EQ(counters().out_of_sequence, 0u);
  EXPECT_EQ(OneReceive().byte_count, 8u);
  EXPECT_EQ(qp_->state(), QpState::kRts);
}

TEST_F(UcResponderTest, PagesThatAreLostTooOftenDropTheMessage) {
  arena_.Protect(1, PROT_NONE);
  Write(SendOpcode::kWrite, 8);
  DeliverAll();
  int tries = 0;
  for (; counters().pages_absent == 0 && tries < 1000; ++tries) {
    Restore(1);
    Serve();
  }
  EXPECT_EQ(tries, kLossesMax);
  EXPECT_EQ(qp_->state(), QpState::kRts);
  arena_.Protect(1, PROT_READ | PROT_WRITE);
}

TEST_F(UcResponderTest, UnavailablePagesOfAReceiveBufferEndTheQueuePair) {
  PostReceive(1, 4096);
  PostReceive(2, 4096);
  Evict(kReceivePage);
  Send(SendOpcode::kSend, 8);
  Send(SendOpcode::kSend, 9);
  DeliverAll();
  ASSERT_EQ(requests_.size(), 1u);
  PagesReady(requests_[0].ticket, false);
  EXPECT_EQ(OneReceive().status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(qp_->state(), QpState::kErr);
  RunAll(*qp_);
  EXPECT_EQ(OneReceive().status, CompletionStatus::kFlushed);
}

TEST_F(UcResponderTest, HeldPacketsAreNotExecutedAfterAFailure) {
  const Bytes before = Written(8);
  Evict(1);
  Write(SendOpcode::kWrite, 8);
  DeliverAll();
  qp_->BecomeFailed();
  RunAll(*qp_);
  Restore(1);
  Serve();
  EXPECT_EQ(Written(8), before);
}

}  // namespace
}  // namespace verbena::transport
