#include "adapter/objects/queue_pair.h"

#include <vector>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

using transport::AttributeMask;
using transport::QpAttribute;

class QueuePairTest : public testing::Test {
 protected:
  QpInit Spec(QpType type) {
    return {.type = type,
            .pd = pd_,
            .send_cq = &send_cq_,
            .receive_cq = &receive_cq_,
            .send = {.capacity = 4, .sges_max = 1},
            .receive = {.capacity = 4, .sges_max = 1}};
  }
  static transport::QpSettings To(QpState state) {
    transport::QpSettings attributes;
    attributes.state = state;
    return attributes;
  }
  static void Move(QueuePair& qp, QpState state) { qp.Modify(To(state), QpAttribute::kState); }

  memory::MemoryCore core_;
  memory::PdId pd_ = *core_.domains.Allocate(*core_.consumers.Open({}));
  Cq send_cq_{4, nullptr}, receive_cq_{4, nullptr};
  transport::AddressHandles handles_;
  transport::Outbox outbox_{8};
  transport::Step step_{Time(), core_, outbox_};
  QpContext context_{.handles = &handles_};
};

TEST_F(QueuePairTest, EveryTypeGoesThroughItsStates) {
  for (const QpType type : {QpType::kRc, QpType::kUc, QpType::kUd}) {
    QueuePair qp(QpNumber(2), Spec(type), context_);
    EXPECT_EQ(qp.state(), QpState::kReset);
    EXPECT_TRUE(qp.RefusesReceives());
    for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts, QpState::kErr}) {
      Move(qp, state);
      EXPECT_EQ(qp.state(), state) << NameOf(type);
      EXPECT_FALSE(qp.RefusesReceives());
      EXPECT_EQ(!qp.RefusesSends(), state == QpState::kRts || state == QpState::kErr);
    }
    EXPECT_TRUE(qp.must_run_for_receives());
    EXPECT_TRUE(qp.IsConsistent());
    qp.Empty(step_);
    Move(qp, QpState::kReset);
    EXPECT_EQ(qp.state(), QpState::kReset);
    EXPECT_TRUE(qp.RefusesSends());
  }
}

TEST_F(QueuePairTest, DrainsAndResumes) {
  for (const QpType type : {QpType::kRc, QpType::kUc, QpType::kUd}) {
    QueuePair qp(QpNumber(2), Spec(type), context_);
    for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) Move(qp, state);
    for (const bool notify : {true, false}) {
      transport::QpSettings drain = To(QpState::kSqd);
      drain.sqd_notify = notify;
      ASSERT_TRUE(qp.CheckModify(drain, QpAttribute::kState | QpAttribute::kSqdNotify).has_value());
      qp.Modify(drain, QpAttribute::kState | QpAttribute::kSqdNotify);
      EXPECT_EQ(qp.state(), QpState::kSqd) << NameOf(type);
      ASSERT_TRUE(qp.send_queue().Post({}).has_value());
      EXPECT_FALSE(qp.Run(step_));
      EXPECT_EQ(outbox_.events().size(), notify ? 1U : 0U) << NameOf(type);
      EXPECT_EQ(outbox_.packets().size(), 0U) << "what was not begun waits";
      EXPECT_FALSE(qp.Run(step_));
      EXPECT_EQ(outbox_.events().size(), notify ? 1U : 0U) << "once";
      if (notify) {
        EXPECT_EQ(outbox_.events()[0].type, AsyncEventType::kSendQueueDrained);
      }
      outbox_.Clear();
      Move(qp, QpState::kRts);
      EXPECT_EQ(qp.state(), QpState::kRts);
    }
    qp.Empty(step_);
    outbox_.Clear();
  }
}

TEST_F(QueuePairTest, IsDrainingWhileWorkIsUnderWay) {
  QueuePair qp(QpNumber(2), Spec(QpType::kRc), context_);
  for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) Move(qp, state);
  ASSERT_TRUE(qp.send_queue().Post({}).has_value());
  EXPECT_FALSE(qp.Run(step_));
  EXPECT_EQ(outbox_.packets().size(), 1U);
  EXPECT_FALSE(qp.is_draining());  // in RTS
  Move(qp, QpState::kSqd);
  EXPECT_TRUE(qp.is_draining());  // no response has arrived
  qp.Empty(step_);
  EXPECT_FALSE(qp.is_draining());
}

TEST_F(QueuePairTest, ChecksBeforeItChanges) {
  QueuePair qp(QpNumber(2), Spec(QpType::kRc), context_);
  const auto missing = qp.CheckModify(To(QpState::kInit), QpAttribute::kState);
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().text.find("PORT"), std::string::npos) << missing.error().text;
  transport::QpSettings wrong = To(QpState::kReset);
  wrong.current_state = QpState::kRts;
  const auto other = qp.CheckModify(wrong, QpAttribute::kState | QpAttribute::kCurrentState);
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().text, "the state is RESET, not RTS");
  EXPECT_TRUE(qp.CheckModify(To(QpState::kErr), QpAttribute::kState).has_value());
  EXPECT_EQ(qp.state(), QpState::kReset);
}

// More requests end than the completion queues have room for, and none has a completion.
TEST_F(QueuePairTest, EmptyingLosesNoCompletionsOfOthers) {
  QueuePair qp(QpNumber(2), Spec(QpType::kRc), context_);
  for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) Move(qp, state);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(qp.receive_queue().Post({}).has_value());
    ASSERT_TRUE(qp.send_queue().Post({}).has_value());
  }
  Completion other;
  other.qp = QpNumber(9);
  for (int i = 0; i < 3; ++i) receive_cq_.Push(other, false, Time());
  const size_t capacity = receive_cq_.capacity();
  qp.Empty(step_);
  EXPECT_EQ(receive_cq_.size(), 3U);
  EXPECT_EQ(send_cq_.size(), 0U);
  EXPECT_FALSE(receive_cq_.overflowed());
  EXPECT_EQ(receive_cq_.capacity(), capacity);
  EXPECT_EQ(qp.receive_queue().begin(), qp.receive_queue().end());
  EXPECT_EQ(qp.send_queue().begin(), qp.send_queue().end());
}

class PrefetchTest : public QueuePairTest {
 protected:
  static constexpr uint64_t kBase = 0x7000'0000'0000;

  Sge Bytes(uint64_t offset, uint32_t length) const {
    return {kBase + offset, length, keys_.local};
  }
  static void PostReceive(QueuePair& qp, const Sge& sge) {
    ASSERT_TRUE(qp.receive_queue().Post({.sges = {&sge, 1}}).has_value());
  }
  static void PostSend(QueuePair& qp, queue::SendOpcode opcode, const Sge& sge) {
    queue::SendWqe wqe;
    wqe.opcode = opcode;
    wqe.operand = RemoteAddress{};
    ASSERT_TRUE(qp.send_queue().Post({.wqe = wqe, .sges = {&sge, 1}}).has_value());
  }
  // The page requests of one run.
  std::vector<memory::Fault> RunOnce(QueuePair& qp) {
    outbox_.Clear();
    static_cast<void>(qp.Run(step_));
    std::vector<memory::Fault> faults;
    for (const auto& request : outbox_.page_requests()) faults.push_back(request.fault);
    outbox_.Clear();
    return faults;
  }
  void MapAll() { ASSERT_TRUE(core_.regions.MapPages(keys_.local, 0, 16, {}, true).has_value()); }

  const memory::RegionKeys keys_ =
      *core_.regions.Register({.pd = pd_,
                               .start = KeyAddress(kBase),
                               .length = 65'536,
                               .rights = Access::kLocalRead | Access::kLocalWrite},
                              memory::LinearBacking{memory::PhysicalAddress(kBase)});
};

TEST_F(PrefetchTest, DatagramBuffersAreRequestedWhenPosted) {
  QueuePair qp(QpNumber(2), Spec(QpType::kUd), context_);
  Move(qp, QpState::kInit);
  PostReceive(qp, Bytes(100, 5'000));
  const auto faults = RunOnce(qp);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].page_count, 2U);
  EXPECT_TRUE(faults[0].for_write);
  // Once, and not for pages that are present.
  MapAll();
  PostReceive(qp, Bytes(100, 5'000));
  EXPECT_TRUE(RunOnce(qp).empty());
  qp.Empty(step_);
}

TEST_F(PrefetchTest, AReliableConnectionChecksOneRoundOfReceives) {
  QueuePair qp(QpNumber(2), Spec(QpType::kRc), context_);
  for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) Move(qp, state);
  EXPECT_TRUE(qp.must_run_for_receives());
  for (uint64_t i = 0; i < 4; ++i) {
    PostReceive(qp, Bytes(i * 4'096, 100));
    const auto faults = RunOnce(qp);
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_EQ(faults[0].first_page, i);
  }
  EXPECT_FALSE(qp.must_run_for_receives()) << "no cost any more";
  qp.Empty(step_);
}

TEST_F(PrefetchTest, BuffersOfASharedQueueAreRequestedByAnyOfItsQueuePairs) {
  for (const QpType type : {QpType::kRc, QpType::kUc, QpType::kUd}) {
    Srq srq(4, 1, pd_);
    QpInit spec = Spec(type);
    spec.srq = &srq;
    QueuePair one(QpNumber(2), spec, context_);
    QueuePair other(QpNumber(3), spec, context_);
    Move(one, QpState::kInit);
    Move(other, QpState::kInit);
    for (uint64_t i = 0; i < 3; ++i) {
      const Sge sge = Bytes(i * 4'096, 100);
      ASSERT_TRUE(srq.Post({.sges = {&sge, 1}}).has_value());
    }
    EXPECT_EQ(RunOnce(one).size(), 3U) << NameOf(type);
    EXPECT_TRUE(RunOnce(other).empty()) << "once";
    one.Empty(step_);
    other.Empty(step_);
  }
}

TEST_F(PrefetchTest, PagesOfWaitingSendsAreRequestedAtOnce) {
  QueuePair qp(QpNumber(2), Spec(QpType::kRc), context_);
  for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) Move(qp, state);
  PostSend(qp, queue::SendOpcode::kWrite, Bytes(0, 100));
  PostSend(qp, queue::SendOpcode::kWrite, Bytes(4'096, 100));
  PostSend(qp, queue::SendOpcode::kRead, Bytes(8'192, 100));
  const auto faults = RunOnce(qp);
  ASSERT_EQ(faults.size(), 3U);
  EXPECT_EQ(faults[1].first_page, 1U);
  EXPECT_FALSE(faults[1].for_write);
  EXPECT_EQ(faults[2].first_page, 2U);
  EXPECT_TRUE(faults[2].for_write) << "a read fills its memory";
  EXPECT_TRUE(RunOnce(qp).empty()) << "once";
  qp.Empty(step_);
}

}  // namespace
}  // namespace verbena::adapter
