// Extended connections through an adapter: which queue receives, and lifetimes.

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {
using queue::SendOpcode;

// Node b has a domain with two receivers, each with its own completion queue; one connection serves
// both.
class XrcTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    QpInit spec = b().Spec(QpType::kXrcReceive);
    spec.xrc_domain = domain_;
    spec.send_cq = spec.receive_cq = nullptr;
    receiver_ = *b().adapter().CreateQp(spec);
    Connect(a_, sender_, b(), *receiver_);
  }

  // Through sockets, or within one adapter.
  TestNode& b() { return GetParam() ? b_ : a_; }

  static queue::SendWqe For(const Srq& srq, queue::SendWqe wqe) {
    wqe.remote_srq = srq.xrc().number;
    return wqe;
  }
  void PostTo(Srq& srq, uint64_t id, const Sge& bytes) {
    EXPECT_TRUE(
        b().adapter()
            .PostReceive(srq, queue::ReceiveWorkRequest{.wqe = {WrId(id)}, .sges = {&bytes, 1}})
            .has_value());
  }

  static constexpr uint64_t kThere = uint64_t{1} << 19;

  TestNode a_{"127.0.0.1"};
  TestNode b_{"127.0.0.1"};
  XrcDomain* const domain_ = *b().adapter().OpenXrcDomain();
  Cq* const first_cq_ = *b().adapter().CreateCq(16, nullptr);
  Cq* const second_cq_ = *b().adapter().CreateCq(16, nullptr, &b().events());
  Srq* const first_ = *b().adapter().CreateXrcSrq(b().pd(), *domain_, *first_cq_, 8, 1);
  Srq* const second_ = *b().adapter().CreateXrcSrq(b().pd(), *domain_, *second_cq_, 8, 1);
  QueuePair& sender_ = a_.MakeQp(QpType::kXrcSend);
  QueuePair* receiver_ = nullptr;
};

TEST_P(XrcTest, EachMessageGoesToTheReceiverThatItNames) {
  EXPECT_NE(first_->xrc().number, second_->xrc().number);
  PostTo(*first_, 11, b().Bytes(kThere, 8'192));
  PostTo(*second_, 22, b().Bytes(kThere + 8'192, 8'192));
  a_.Fill(0, 6'000, 3);
  a_.Fill(8'192, 100, 4);
  Post(a_, sender_, For(*second_, MakeSend(SendOpcode::kSend, 1)), a_.Bytes(0, 6'000));
  Post(a_, sender_, For(*first_, MakeSend(SendOpcode::kSend, 2)), a_.Bytes(8'192, 100));
  for (const uint64_t id : {1u, 2u}) {
    const auto sent = a_.Wait();
    ASSERT_TRUE(sent.has_value());
    EXPECT_EQ(sent->status, CompletionStatus::kSuccess);
    EXPECT_EQ(sent->id.value(), id);
  }
  const auto at_second = b().Wait(second_cq_);
  ASSERT_TRUE(at_second.has_value());
  EXPECT_EQ(at_second->id.value(), 22U);
  EXPECT_EQ(at_second->byte_count, 6'000U);
  EXPECT_EQ(at_second->qp.value(), receiver_->number().value());
  EXPECT_TRUE(b().Holds(kThere + 8'192, 6'000, 3));
  const auto at_first = b().Wait(first_cq_);
  ASSERT_TRUE(at_first.has_value());
  EXPECT_EQ(at_first->id.value(), 11U);
  EXPECT_TRUE(b().Holds(kThere, 100, 4));
}

TEST_P(XrcTest, OneSidedOperationsUseTheKeysOfTheReceiversDomain) {
  a_.Fill(0, 5'000, 7);
  Post(a_, sender_, For(*first_, MakeSend(SendOpcode::kWrite, 1, b().Remote(kThere))),
       a_.Bytes(0, 5'000));
  ASSERT_EQ(a_.Wait()->status, CompletionStatus::kSuccess);
  EXPECT_TRUE(b().Holds(kThere, 5'000, 7));
  Post(a_, sender_, For(*second_, MakeSend(SendOpcode::kRead, 2, b().Remote(kThere))),
       a_.Bytes(8'192, 5'000));
  ASSERT_EQ(a_.Wait()->status, CompletionStatus::kSuccess);
  EXPECT_TRUE(a_.Holds(8'192, 5'000, 7));

  // A receiver of another protection domain: the same key is refused.
  const auto stranger = *b().adapter().AllocatePd();
  Srq* const other = *b().adapter().CreateXrcSrq(stranger, *domain_, *first_cq_, 8, 1);
  Post(a_, sender_, For(*other, MakeSend(SendOpcode::kRead, 3, b().Remote(kThere))),
       a_.Bytes(8'192, 5'000));
  EXPECT_EQ(a_.Wait()->status, CompletionStatus::kRemoteAccessError);
}

TEST_P(XrcTest, AnUnknownReceiverIsAnInvalidRequest) {
  queue::SendWqe wqe = For(*first_, MakeSend(SendOpcode::kSend, 1));
  wqe.remote_srq = SrqNumber(0xABCDEF);
  Post(a_, sender_, wqe, a_.Bytes(0, 8));
  EXPECT_EQ(a_.Wait()->status, CompletionStatus::kRemoteInvalidRequest);
}

TEST_P(XrcTest, DestroyingAReceiverLeavesTheOthers) {
  PostTo(*second_, 22, b().Bytes(kThere, 64));
  Succeed(b().adapter().Destroy(first_));
  Post(a_, sender_, For(*second_, MakeSend(SendOpcode::kSend, 1)), a_.Bytes(0, 64));
  EXPECT_EQ(a_.Wait()->status, CompletionStatus::kSuccess);
  EXPECT_EQ(b().Wait(second_cq_)->id.value(), 22U);
}

TEST_P(XrcTest, TheLimitEventNamesTheReceiver) {
  PostTo(*second_, 22, b().Bytes(kThere, 64));
  Succeed(b().adapter().SetLimit(*second_, 1));
  Post(a_, sender_, For(*second_, MakeSend(SendOpcode::kSend, 1)), a_.Bytes(0, 64));
  EXPECT_EQ(a_.Wait()->status, CompletionStatus::kSuccess);
  const auto event = b().events().Wait();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, AsyncEventType::kSrqLimitReached);
  EXPECT_EQ(event->srq, second_);
}

TEST_P(XrcTest, ObjectsInUseAreNotDestroyed) {
  const auto code = [](const ErrorOr<void>& result) { return result.error().code; };
  Adapter& adapter = b().adapter();
  EXPECT_EQ(code(adapter.Destroy(domain_)), ErrorCode::kInUse);
  EXPECT_EQ(code(adapter.Destroy(first_cq_)), ErrorCode::kInUse);
  Succeed(adapter.Destroy(first_));
  Succeed(adapter.Destroy(second_));
  EXPECT_EQ(code(adapter.Destroy(domain_)), ErrorCode::kInUse);
  Succeed(adapter.Destroy(receiver_));
  Succeed(adapter.Destroy(domain_));
  Succeed(adapter.Destroy(first_cq_));
  Succeed(adapter.Destroy(second_cq_));
}

TEST_P(XrcTest, EachEndHasAtMostOneQueue) {
  const Sge bytes = b().Bytes(0, 8);
  const queue::ReceiveWorkRequest receive{.wqe = {WrId(1)}, .sges = {&bytes, 1}};
  EXPECT_EQ(a_.adapter().PostReceive(sender_, receive).error(), PostReason::kNoReceiveQueue);
  EXPECT_EQ(b().adapter().PostReceive(*receiver_, receive).error(), PostReason::kNoReceiveQueue);
  EXPECT_EQ(b().adapter()
                .PostSend(*receiver_, {.wqe = MakeSend(SendOpcode::kSend, 1), .sges = {}})
                .error(),
            PostReason::kNoSendQueue);
}

INSTANTIATE_TEST_SUITE_P(Transports, XrcTest, testing::Values(false, true), [](const auto& test) {
  return test.param ? std::string("Sockets") : std::string("Loopback");
});

TEST(XrcSpecTest, TheReceivingEndNeedsADomain) {
  TestNode node("127.0.0.1");
  EXPECT_EQ(node.adapter().CreateQp(node.Spec(QpType::kXrcReceive)).error().code,
            ErrorCode::kInvalid);
}

TEST(XrcSpecTest, DomainsHaveALimit) {
  AdapterOptions options = TestOptions();
  options.xrc_domains_max = 1;
  TestNode node("127.0.0.1", 4'096, options);
  XrcDomain* const domain = *node.adapter().OpenXrcDomain();
  EXPECT_EQ(node.adapter().OpenXrcDomain().error().code, ErrorCode::kLimit);
  Succeed(node.adapter().Destroy(domain));
  EXPECT_TRUE(node.adapter().OpenXrcDomain().has_value());
}

}  // namespace
}  // namespace verbena::adapter
