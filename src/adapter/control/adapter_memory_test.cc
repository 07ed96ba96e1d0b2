#include <sys/mman.h>

#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/adapter_world.h"

namespace verbena::adapter {
namespace {

using queue::SendOpcode;

class AdapterMemoryTest : public testing::Test {
 protected:
  static constexpr uint64_t kBytes = uint64_t{64} << 20;

  void SetUp() override { Connect(a_, qa_, b_, qb_, {.timeout = 17}); }  // half a second

  CompletionStatus Do(const queue::SendWqe& wqe, const Sge& bytes) {
    Post(a_, qa_, wqe, bytes);
    const auto completion = a_.Wait();
    EXPECT_TRUE(completion.has_value());
    return completion ? completion->status : CompletionStatus::kGeneralError;
  }

  TestNode a_{"127.0.0.1", kBytes}, b_{"127.0.0.1", kBytes};
  QueuePair& qa_ = a_.MakeQp(QpType::kRc);
  QueuePair& qb_ = b_.MakeQp(QpType::kRc);
};

TEST_F(AdapterMemoryTest, FreshMemoryOf64MiBIsWrittenAndRead) {
  a_.Fill(0, kBytes / 2, 1);
  EXPECT_EQ(Do(MakeSend(SendOpcode::kWrite, 1, b_.Remote(0)), a_.Bytes(0, kBytes / 2)),
            CompletionStatus::kSuccess);
  EXPECT_TRUE(b_.Holds(0, kBytes / 2, 1));
  // Not in one read: a peer sends the responses as fast as it can, and if they are longer than the
  // socket buffer, some may be lost, with or without faults.
  constexpr uint64_t kRead = uint64_t{1} << 20;
  for (uint64_t at = 0; at < kBytes / 2; at += kRead) {
    ASSERT_EQ(Do(MakeSend(SendOpcode::kRead, 2, b_.Remote(at)), a_.Bytes(kBytes / 2 + at, kRead)),
              CompletionStatus::kSuccess);
  }
  EXPECT_TRUE(a_.Holds(kBytes / 2, kBytes / 2, 1));
  EXPECT_GT(a_.adapter().Query()->port.page_requests, 0U);
  EXPECT_GT(b_.adapter().Query()->port.page_requests, 0U);
  // No fault is resolved by a retransmission timer.
  EXPECT_EQ(a_.adapter().Query(qa_)->counters.timeouts, 0U);
}

TEST_F(AdapterMemoryTest, RegistrationTouchesNoPage) {
  std::vector<unsigned char> present(kBytes / 4'096);
  ASSERT_EQ(mincore(b_.memory().data(), kBytes, present.data()), 0);
  EXPECT_TRUE(std::ranges::all_of(present, [](unsigned char page) { return (page & 1) == 0; }));
}

TEST_F(AdapterMemoryTest, UnmappedLocalMemoryIsAnError) {
  a_.Unmap(8'192, 4'096);
  EXPECT_EQ(Do(MakeSend(SendOpcode::kWrite, 1, b_.Remote(0)), a_.Bytes(0, 16'384)),
            CompletionStatus::kLocalProtectionError);
}

TEST_F(AdapterMemoryTest, UnmappedMemoryThatTheTablesMarkPresentIsAnErrorAndMarkedAbsent) {
  a_.Fill(0, 16'384, 1);
  EXPECT_EQ(Do(MakeSend(SendOpcode::kWrite, 1, b_.Remote(0)), a_.Bytes(0, 16'384)),
            CompletionStatus::kSuccess);
  // The tables say that it is present.
  a_.Unmap(8'192, 4'096);
  EXPECT_EQ(Do(MakeSend(SendOpcode::kWrite, 2, b_.Remote(0)), a_.Bytes(0, 16'384)),
            CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(a_.adapter().Query(qa_)->state, QpState::kErr);
  EXPECT_EQ(a_.adapter().Query()->port.copies_failed, 1U);
  // Mapped again, a new connection can use it: it is requested again.
  a_.MapFresh(8'192, 4'096);
  const uint64_t requests = a_.adapter().Query()->port.page_requests;
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qb = b_.MakeQp(QpType::kRc);
  Connect(a_, qa, b_, qb);
  Post(a_, qa, MakeSend(SendOpcode::kWrite, 3, b_.Remote(0)), a_.Bytes(0, 16'384));
  const auto completion = a_.Wait();
  ASSERT_TRUE(completion.has_value());
  EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
  EXPECT_GT(a_.adapter().Query()->port.page_requests, requests);
}

TEST_F(AdapterMemoryTest, MemoryThatIsMappedAgainInTimeIsUsed) {
  // The tables of both sides say that the pages are present; the pages go and come back while
  // messages are in flight.
  a_.Fill(0, 65'536, 1);
  for (const SendOpcode opcode : {SendOpcode::kWrite, SendOpcode::kRead}) {
    ASSERT_EQ(Do(MakeSend(opcode, 1, b_.Remote(0)), a_.Bytes(0, 65'536)),
              CompletionStatus::kSuccess);
  }
  for (TestNode* const node : {&a_, &b_}) {
    for (const SendOpcode opcode : {SendOpcode::kWrite, SendOpcode::kRead}) {
      node->Unmap(16'384, 32'768);
      node->MapFresh(16'384, 32'768);
      a_.Fill(0, 65'536, 7);
      EXPECT_EQ(Do(MakeSend(opcode, 2, b_.Remote(0)), a_.Bytes(0, 65'536)),
                CompletionStatus::kSuccess);
    }
  }
}

// The reply to a read loses its pages at the responder; other queue pairs continue.
TEST_F(AdapterMemoryTest, AReadOfUnmappedMemoryThatTheTablesMarkPresentIsARemoteError) {
  QueuePair& other_a = a_.MakeQp(QpType::kRc);
  QueuePair& other_b = b_.MakeQp(QpType::kRc);
  Connect(a_, other_a, b_, other_b);
  ASSERT_EQ(Do(MakeSend(SendOpcode::kRead, 1, b_.Remote(0)), a_.Bytes(0, 65'536)),
            CompletionStatus::kSuccess);
  b_.Unmap(32'768, 4'096);
  EXPECT_EQ(Do(MakeSend(SendOpcode::kRead, 2, b_.Remote(0)), a_.Bytes(0, 65'536)),
            CompletionStatus::kRemoteAccessError);
  Post(a_, other_a, MakeSend(SendOpcode::kRead, 3, b_.Remote(0)), a_.Bytes(0, 32'768));
  const auto completion = a_.Wait();
  ASSERT_TRUE(completion.has_value());
  EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
}

TEST_F(AdapterMemoryTest, UnmappedRemoteMemoryIsARemoteError) {
  b_.Unmap(0, 4'096);
  const CompletionStatus status =
      Do(MakeSend(SendOpcode::kWrite, 1, b_.Remote(0)), a_.Bytes(0, 64));
  EXPECT_TRUE(status == CompletionStatus::kRemoteAccessError ||
              status == CompletionStatus::kRemoteOperationError)
      << NameOf(status);
}

// The system takes pages without notice; a probe detects it, and the next access requests them.
TEST_F(AdapterMemoryTest, TheResidencyScanInvalidatesPagesThatLeft) {
  constexpr uint64_t kLength = 65'536;
  ASSERT_EQ(Do(MakeSend(SendOpcode::kWrite, 1, b_.Remote(0)), a_.Bytes(0, kLength)),
            CompletionStatus::kSuccess);
  madvise(b_.memory().data(), kLength, MADV_DONTNEED);
  const auto forgotten = [this] { return b_.adapter().Query()->port.pages_invalidated; };
  const Time end = Now() + Seconds(20);
  while (forgotten() == 0 && Now() < end) b_.adapter().Progress(b_.cq());
  EXPECT_EQ(forgotten(), kLength / 4'096);
  const uint64_t requests = b_.adapter().Query()->port.page_requests;
  EXPECT_EQ(Do(MakeSend(SendOpcode::kWrite, 2, b_.Remote(0)), a_.Bytes(0, kLength)),
            CompletionStatus::kSuccess);
  EXPECT_GT(b_.adapter().Query()->port.page_requests, requests);
}

TEST_F(AdapterMemoryTest, PinnedRegionsArePresentFromTheFirstAccess) {
  AdapterOptions options = TestOptions();
  options.pin = true;
  TestNode c("127.0.0.1", 65'536, options);
  std::vector<unsigned char> present(16);
  ASSERT_EQ(mincore(c.memory().data(), 65'536, present.data()), 0);
  EXPECT_TRUE(std::ranges::all_of(present, [](unsigned char page) { return (page & 1) != 0; }));
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  QueuePair& qc = c.MakeQp(QpType::kRc);
  Connect(a_, qa, c, qc);
  Post(a_, qa, MakeSend(SendOpcode::kWrite, 1, c.Remote(0)), a_.Bytes(0, 65'536));
  const auto completion = a_.Wait();
  ASSERT_TRUE(completion.has_value());
  EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
  EXPECT_EQ(c.adapter().Query()->port.page_requests, 0U);
  Succeed(c.adapter().DeregisterRegion(c.keys().local));
  EXPECT_EQ(madvise(c.memory().data(), 65'536, MADV_DONTNEED), 0) << "still locked";
}

TEST_F(AdapterMemoryTest, KeysAreCheckedAndInvalidAfterDeregistration) {
  const auto narrow = b_.Register(Access::kLocalRead | Access::kRemoteRead);
  ASSERT_TRUE(narrow.has_value());
  const RemoteAddress remote{b_.AddressOf(0), narrow->remote};
  EXPECT_EQ(Do(MakeSend(SendOpcode::kRead, 1, remote), a_.Bytes(0, 64)),
            CompletionStatus::kSuccess);
  Succeed(b_.adapter().DeregisterRegion(narrow->local));
  EXPECT_EQ(b_.adapter().DeregisterRegion(narrow->local).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(Do(MakeSend(SendOpcode::kRead, 2, remote), a_.Bytes(0, 64)),
            CompletionStatus::kRemoteAccessError);
}

TEST_F(AdapterMemoryTest, AWindowIsBoundUsedAndDeallocated) {
  const auto window = b_.adapter().AllocateWindow(b_.pd(), WindowType::k2A);
  ASSERT_TRUE(window.has_value());
  const queue::WindowBind bind{.window = Key(window->value()),
                               .region = b_.keys().local,
                               .start = b_.AddressOf(100),
                               .length = 50,
                               .variant = KeyVariant(9),
                               .rights = Access::kRemoteWrite};
  const auto posted =
      b_.adapter().PostSend(qb_, {.wqe = MakeSend(SendOpcode::kBindWindow, 1, bind)});
  ASSERT_TRUE(posted.has_value());
  const auto bound = b_.Wait();
  ASSERT_TRUE(bound.has_value());
  ASSERT_EQ(bound->status, CompletionStatus::kSuccess) << NameOf(bound->status);
  const Key key(window->index(), KeyVariant(9));
  a_.Fill(0, 50, 4);
  const RemoteAddress remote{b_.AddressOf(100), key};
  EXPECT_EQ(Do(MakeSend(SendOpcode::kWrite, 2, remote), a_.Bytes(0, 50)),
            CompletionStatus::kSuccess);
  EXPECT_TRUE(b_.Holds(100, 50, 4));
  EXPECT_EQ(b_.adapter().DeregisterRegion(b_.keys().local).error().code, ErrorCode::kInUse);
  Succeed(b_.adapter().DeallocateWindow(key));
}

TEST_F(AdapterMemoryTest, AnImplicitRegionCoversTheWholeProcess) {
  const auto keys = b_.adapter().RegisterRegion(
      {.pd = b_.pd(), .start = {}, .length = ~uint64_t{0}, .rights = Access::kAll},
      memory::AddressSpaceBacking{});
  ASSERT_TRUE(keys.has_value()) << keys.error().text;
  a_.Fill(0, 20'000, 8);
  const RemoteAddress remote{b_.AddressOf(4'000), keys->remote};
  EXPECT_EQ(Do(MakeSend(SendOpcode::kWrite, 1, remote), a_.Bytes(0, 20'000)),
            CompletionStatus::kSuccess);
  EXPECT_TRUE(b_.Holds(4'000, 20'000, 8));
}

TEST_F(AdapterMemoryTest, AFastRegistrationHasALimit) {
  const PageShift shift(12);
  const uint64_t limit = a_.adapter().options().fast_register_pages;
  EXPECT_TRUE(a_.adapter().ReserveRegion(a_.pd(), limit, shift).has_value());
  EXPECT_EQ(a_.adapter().ReserveRegion(a_.pd(), limit + 1, shift).error().code, ErrorCode::kLimit);
}

TEST_F(AdapterMemoryTest, ReregisteringChangesTheKey) {
  const memory::RegionSpec spec{.pd = b_.pd(),
                                .start = KeyAddress(b_.AddressOf(0)),
                                .length = kBytes,
                                .rights = Access::kLocalRead | Access::kRemoteRead};
  const auto keys = b_.adapter().ReregisterRegion(b_.keys().local, spec, std::nullopt);
  ASSERT_TRUE(keys.has_value());
  EXPECT_NE(keys->remote, b_.keys().remote);
  const RemoteAddress fresh{b_.AddressOf(0), keys->remote};
  EXPECT_EQ(Do(MakeSend(SendOpcode::kRead, 1, fresh), a_.Bytes(0, 8)), CompletionStatus::kSuccess);
  EXPECT_EQ(Do(MakeSend(SendOpcode::kRead, 2, b_.Remote(0)), a_.Bytes(0, 8)),
            CompletionStatus::kRemoteAccessError);
}

// All its buffers are absent, but were requested before the messages arrived.
TEST_F(AdapterMemoryTest, ABurstOfMessagesToASharedQueueDoesNotWaitForEach) {
  constexpr uint32_t kMessages = 32;
  Srq& srq = **b_.adapter().CreateSrq(b_.pd(), kMessages, 1);
  for (uint64_t i = 0; i < kMessages; ++i) {
    const Sge buffer = b_.Bytes(i * 4'096, 100);
    ASSERT_TRUE(b_.adapter().PostReceive(srq, {.sges = {&buffer, 1}}).has_value());
  }
  QpInit spec = b_.Spec(QpType::kRc);
  spec.srq = &srq;
  QueuePair& qb = **b_.adapter().CreateQp(spec);
  QueuePair& qa = a_.MakeQp(QpType::kRc);
  Connect(a_, qa, b_, qb);
  for (uint64_t i = 0; i < kMessages; ++i) {
    Post(a_, qa, MakeSend(SendOpcode::kSend, i), a_.Bytes(0, 100));
  }
  for (uint64_t i = 0; i < kMessages; ++i) {
    const auto completion = a_.Wait();
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->status, CompletionStatus::kSuccess);
  }
  EXPECT_LT(a_.adapter().Query(qa)->counters.rnr_naks, kMessages / 4);
}

// An unreliable queue pair that sends, of either type.
class UnreliableMemoryTest : public testing::TestWithParam<QpType> {
 protected:
  UnreliableMemoryTest() { Connect(a_, from_, b_, to_); }

  // The status of a send of the page.
  CompletionStatus Send() {
    queue::SendOperand operand;
    if (GetParam() == QpType::kUd) {
      operand = Datagram{.handle = handle_, .qp = to_.number(), .q_key = kTestQKey};
    }
    Post(a_, from_, MakeSend(SendOpcode::kSend, 1, operand), a_.Bytes(0, 1'000));
    const auto completion = a_.Wait();
    EXPECT_TRUE(completion.has_value());
    return completion ? completion->status : CompletionStatus::kGeneralError;
  }

  TestNode a_{"127.0.0.1"}, b_{"127.0.0.1"};
  QueuePair& from_ = a_.MakeQp(GetParam());
  QueuePair& to_ = b_.MakeQp(GetParam());
  const AddressHandleId handle_ = *a_.adapter().CreateAddressHandle(a_.pd(), PathFrom(a_, b_));
};
INSTANTIATE_TEST_SUITE_P(Both, UnreliableMemoryTest, testing::Values(QpType::kUc, QpType::kUd));

TEST_P(UnreliableMemoryTest, UnmappedMemoryFailsOnlyTheSend) {
  ASSERT_EQ(Send(), CompletionStatus::kSuccess);
  a_.Unmap(0, 4'096);
  EXPECT_EQ(Send(), CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(a_.adapter().Query(from_)->state, QpState::kSqe) << "it receives on";
  a_.MapFresh(0, 4'096);
  QpChange change;
  change.attributes.state = QpState::kRts;
  change.mask = Attribute::kState;
  Succeed(a_.adapter().Modify(from_, change));
  EXPECT_EQ(Send(), CompletionStatus::kSuccess);
}

TEST_P(UnreliableMemoryTest, MemoryMappedInItsPlaceIsSent) {
  b_.Fill(0, 2'000, 1);
  PostReceive(b_, to_, 1, b_.Bytes(0, 2'000));
  PostReceive(b_, to_, 2, b_.Bytes(0, 2'000));
  const uint64_t offset = GetParam() == QpType::kUd ? 40 : 0;
  for (const uint8_t seed : {uint8_t{3}, uint8_t{4}}) {
    a_.Unmap(0, 4'096);
    a_.MapFresh(0, 4'096);
    a_.Fill(0, 1'000, seed);
    ASSERT_EQ(Send(), CompletionStatus::kSuccess);
    ASSERT_TRUE(b_.Wait().has_value());
    EXPECT_TRUE(b_.Holds(offset, 1'000, seed));
  }
}

}  // namespace
}  // namespace verbena::adapter
