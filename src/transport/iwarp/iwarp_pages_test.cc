// Pages that are absent: a stream waits, nothing is dropped, and no other stream waits.

#include <sys/mman.h>

#include <gtest/gtest.h>

#include "tests/support/iwarp_end.h"

namespace verbena::transport {
namespace {

using scenario::Bytes;
using scenario::IwarpSpec;
using scenario::RcNode;
using wire::TerminateCode;
using Statuses = std::vector<CompletionStatus>;

constexpr CompletionStatus kOk = CompletionStatus::kSuccess;
constexpr uint64_t kPage = RcNode::kPage;

class IwarpPagesTest : public scenario::IwarpPair {
 protected:
  IwarpPagesTest() {
    Connect();
    a_->node.Fill(0, a_->node.arena.size(), 7);
  }
  // Runs until nothing happens, and answers page requests of both ends.
  void SettleWithPages() {
    do {
      Settle();
      for (scenario::IwarpEnd* const end : {a_.get(), b_.get()}) {
        while (!end->page_requests.empty()) end->AnswerPages();
      }
      a_->Run();
      b_->Run();
    } while (!a_->buffer.empty() || !b_->buffer.empty());
  }
};

TEST_F(IwarpPagesTest, AWriteWaitsAndBytesAreNotTaken) {
  b_->node.Evict(1, 2);
  a_->Post(scenario::WriteOf(1, b_->node.Remote(kPage - 100)), {a_->node.Local(0, 1000)});
  Settle();
  ASSERT_EQ(b_->page_requests.size(), 1);
  EXPECT_TRUE(b_->page_requests[0].fault.for_write);
  EXPECT_TRUE(b_->qp->is_waiting());
  const size_t kept = b_->inbox.size();
  EXPECT_GT(kept, 0);
  // More bytes are not taken either.
  a_->Post(scenario::WriteOf(2, b_->node.Remote(0)), {a_->node.Local(0, 8)});
  Settle();
  EXPECT_GT(b_->inbox.size(), kept);
  EXPECT_EQ(b_->page_requests.size(), 1);
  SettleWithPages();
  EXPECT_TRUE(b_->inbox.empty());
  EXPECT_EQ(b_->node.Read(kPage - 100, 1000), a_->node.Read(0, 1000));
  EXPECT_EQ(b_->qp->counters().page_waits, 1);
}

// The length of a write is not on the wire: pages are requested up to the end of the region.
TEST_F(IwarpPagesTest, TheFirstSegmentOfAWriteRequestsThePagesOfTheNextOnes) {
  b_->node.Evict(2, 6);
  a_->Post(scenario::WriteOf(1, b_->node.Remote(2 * kPage)), {a_->node.Local(0, 5 * kPage)});
  Settle();
  ASSERT_EQ(b_->page_requests.size(), 1);
  EXPECT_EQ(b_->page_requests[0].fault.first_page, 2);
  EXPECT_EQ(b_->page_requests[0].fault.page_count, 6);
  SettleWithPages();
  EXPECT_EQ(b_->qp->counters().page_waits, 1);
  EXPECT_EQ(b_->node.Read(2 * kPage, 5 * kPage), a_->node.Read(0, 5 * kPage));
}

TEST_F(IwarpPagesTest, ASendWaitsForItsReceiveBuffer) {
  b_->node.Evict(3);
  b_->PostReceive(1, 3 * kPage, 1000);
  a_->Post(scenario::SendOf(2), {a_->node.Local(0, 1000)});
  Settle();
  EXPECT_TRUE(b_->Received().empty());
  EXPECT_TRUE(b_->qp->TakeReceiveFault());
  SettleWithPages();
  EXPECT_EQ(StatusesOf(b_->Received()), Statuses({kOk}));
  EXPECT_EQ(b_->node.Read(3 * kPage, 1000), a_->node.Read(0, 1000));
}

TEST_F(IwarpPagesTest, AnAtomicIsExecutedOnceAfterItsPageHasCome) {
  b_->node.Evict(0);
  a_->Post(scenario::FetchAddOf(1, b_->node.Remote(8), 5), {a_->node.Local(0, 8)});
  Settle();
  EXPECT_EQ(b_->node.WordAt(8), 0);
  SettleWithPages();
  EXPECT_EQ(b_->node.WordAt(8), 5);
  EXPECT_EQ(StatusesOf(a_->Sent()), Statuses({kOk}));
}

TEST_F(IwarpPagesTest, AReadResponseWaitsAndMessagesOfTheOtherHalfGoOn) {
  a_->node.Evict(2);
  a_->PostReceive(9, 0, 100);
  b_->Post(scenario::ReadOf(1, a_->node.Remote(2 * kPage)), {b_->node.Local(0, 3000)});
  Settle();
  EXPECT_EQ(a_->page_requests.size(), 1);
  EXPECT_FALSE(a_->qp->is_waiting());  // bytes are taken
  a_->Post(scenario::WriteOf(2, b_->node.Remote(kPage)), {a_->node.Local(0, 8)});
  b_->Post(scenario::SendOf(3), {b_->node.Local(0, 8)});
  Settle();
  EXPECT_EQ(StatusesOf(a_->Sent()), Statuses({kOk}));
  EXPECT_EQ(StatusesOf(a_->Received()), Statuses({kOk}));
  EXPECT_TRUE(b_->Sent().empty());
  SettleWithPages();
  EXPECT_EQ(StatusesOf(b_->Sent()), Statuses({kOk, kOk}));
  EXPECT_EQ(b_->node.Read(0, 3000), a_->node.Read(2 * kPage, 3000));
}

TEST_F(IwarpPagesTest, AResponseWaitsForTheListOfItsRead) {
  b_->node.Evict(0, 2);
  b_->Post(scenario::ReadOf(1, a_->node.Remote(0)), {b_->node.Local(0, 2 * kPage)});
  Settle();
  EXPECT_TRUE(b_->qp->is_waiting());
  SettleWithPages();
  EXPECT_EQ(StatusesOf(b_->Sent()), Statuses({kOk}));
  EXPECT_EQ(b_->qp->counters().page_waits, 1);
}

TEST_F(IwarpPagesTest, BytesToSendAreFetchedBeforeTheMessageBegins) {
  a_->node.Evict(0, 2);
  b_->PostReceive(1, 0, 2 * kPage);
  a_->Post(scenario::SendOf(2), {a_->node.Local(0, 2 * kPage)});
  a_->Run();
  ASSERT_EQ(a_->page_requests.size(), 1);
  EXPECT_EQ(a_->page_requests[0].fault.page_count, 2);
  EXPECT_TRUE(a_->buffer.empty());
  SettleWithPages();
  EXPECT_EQ(StatusesOf(b_->Received()), Statuses({kOk}));
}

TEST_F(IwarpPagesTest, PagesThatCannotBePagedInEndTheStream) {
  b_->node.Evict(1);
  a_->Post(scenario::WriteOf(1, b_->node.Remote(kPage)), {a_->node.Local(0, 8)});
  Settle();
  b_->AnswerPages(false);
  b_->Run();
  EXPECT_EQ(b_->qp->terminate_sent()->code, TerminateCode::kRdmapStreamCatastrophic);
  Settle();
  EXPECT_EQ(a_->qp->state(), QpState::kErr);
}

TEST_F(IwarpPagesTest, AReadWhosePagesCannotBePagedInIsNamed) {
  b_->node.Evict(1);
  a_->Post(scenario::ReadOf(1, b_->node.Remote(kPage)), {a_->node.Local(0, 8)});
  Settle();
  b_->AnswerPages(false);
  Settle();
  EXPECT_EQ(StatusesOf(a_->Sent()), Statuses({CompletionStatus::kRemoteInvalidRequest}));
}

TEST_F(IwarpPagesTest, AReceiveBufferThatCannotBePagedInFailsItsReceive) {
  b_->node.Evict(3);
  b_->PostReceive(1, 3 * kPage, 100);
  a_->Post(scenario::SendOf(2), {a_->node.Local(0, 100)});
  Settle();
  b_->AnswerPages(false);
  b_->Run();
  EXPECT_EQ(StatusesOf(b_->Received()), Statuses({CompletionStatus::kLocalProtectionError}));
  EXPECT_EQ(b_->qp->terminate_sent()->code, TerminateCode::kRdmapCatastrophic);
}

TEST_F(IwarpPagesTest, BytesToSendThatCannotBePagedInFailTheirElement) {
  a_->node.Evict(0);
  a_->Post(scenario::WriteOf(1, b_->node.Remote(0)), {a_->node.Local(0, 8)});
  a_->Run();
  a_->AnswerPages(false);
  a_->Run();
  EXPECT_EQ(StatusesOf(a_->Sent()), Statuses({CompletionStatus::kLocalProtectionError}));
}

TEST_F(IwarpPagesTest, AResponseWhoseListCannotBePagedInFailsItsReadOnce) {
  b_->node.Evict(0);
  b_->Post(scenario::ReadOf(1, a_->node.Remote(0)), {b_->node.Local(0, 1000)});
  Settle();
  ASSERT_TRUE(b_->qp->is_waiting());
  b_->AnswerPages(false);  // and the bytes are given again, before it runs
  b_->Run();
  EXPECT_EQ(StatusesOf(b_->Sent()), Statuses({CompletionStatus::kLocalProtectionError}));
  EXPECT_EQ(b_->qp->terminate_sent()->code, TerminateCode::kRdmapCatastrophic);
}

// The tables say that a page is present, and it is not.
TEST_F(IwarpPagesTest, APageThatIsLostAgainAndAgainEndsTheStream) {
  b_->node.arena.Protect(1, PROT_NONE);
  a_->Post(scenario::WriteOf(1, b_->node.Remote(kPage)), {a_->node.Local(0, 8)});
  Settle();
  int answers = 0;
  for (; !b_->page_requests.empty() && answers < 1000; ++answers) b_->AnswerPages();
  b_->node.arena.Protect(1, PROT_READ | PROT_WRITE);
  EXPECT_EQ(answers, kLossesMax);
  EXPECT_TRUE(b_->qp->terminate_sent().has_value());
}

TEST_F(IwarpPagesTest, ALostPageOfAMessageIsFetchedInItsMiddle) {
  b_->PostReceive(1, 0, 2 * kPage);
  a_->node.arena.Protect(1, PROT_NONE);
  a_->Post(scenario::SendOf(2), {a_->node.Local(0, 2 * kPage)});
  Settle();
  ASSERT_EQ(a_->page_requests.size(), 1);
  EXPECT_TRUE(a_->page_requests[0].fault.is_loss);
  a_->node.arena.Protect(1, PROT_READ | PROT_WRITE);
  SettleWithPages();
  EXPECT_EQ(StatusesOf(b_->Received()), Statuses({kOk}));
}

}  // namespace
}  // namespace verbena::transport
