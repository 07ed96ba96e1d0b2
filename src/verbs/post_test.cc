#include <chrono>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/verbs_world.h"

namespace verbena {
namespace {

class PostTest : public VerbsPairTest {
 protected:
  uint64_t WordAt(const VerbsNode& node, size_t offset) const {
    uint64_t word = 0;
    std::memcpy(&word, &node.memory[offset], sizeof word);
    return word;
  }
  static void SetWord(VerbsNode& node, size_t offset, uint64_t word) {
    std::memcpy(&node.memory[offset], &word, sizeof word);
  }
  // The first offset in the region at which the address is a multiple of 8, for atomics.
  size_t Aligned(const VerbsNode& node) const { return (8 - node.region.start() % 8) % 8; }
};

TEST_F(PostTest, WritesAndReads) {
  a_.Fill(0, 9'000, 4);
  ASSERT_TRUE(qa_.Post(Write{.data = a_.region.Local(0, 9'000), .remote = b_.region.Remote(33)}));
  EXPECT_EQ(a_.Wait()->opcode, CompletionOpcode::kWrite);
  EXPECT_TRUE(b_.Holds(33, 9'000, 4));
  ASSERT_TRUE(
      qa_.Post(Read{.data = a_.region.Local(20'000, 9'000), .remote = b_.region.Remote(33)}));
  const auto read = a_.Wait();
  EXPECT_EQ(read->opcode, CompletionOpcode::kRead);
  EXPECT_TRUE(a_.Holds(20'000, 9'000, 4));
}

TEST_F(PostTest, AWriteWithImmediateTakesAReceive) {
  ASSERT_TRUE(qb_.Post(Receive{.id = WrId{3}}));
  ASSERT_TRUE(qa_.Post(Write{.data = a_.region.Local(0, 8),
                             .remote = b_.region.Remote(),
                             .immediate = Immediate{0xABCD}}));
  const auto received = b_.Wait();
  EXPECT_EQ(received->opcode, CompletionOpcode::kReceiveWithImmediate);
  EXPECT_EQ(received->immediate, Immediate{0xABCD});
  EXPECT_EQ(received->id, WrId{3});
}

TEST_F(PostTest, Atomics) {
  const size_t at = Aligned(b_);
  SetWord(b_, at, 40);
  ASSERT_TRUE(qa_.Post(
      FetchAdd{.result = a_.region.Local(0, 8), .remote = b_.region.Remote(at), .add = 2}));
  EXPECT_EQ(a_.Wait()->opcode, CompletionOpcode::kFetchAdd);
  EXPECT_EQ(WordAt(a_, 0), 40U);
  ASSERT_TRUE(qa_.Post(CompareSwap{
      .result = a_.region.Local(0, 8), .remote = b_.region.Remote(at), .compare = 42, .swap = 7}));
  EXPECT_EQ(a_.Wait()->opcode, CompletionOpcode::kCompareSwap);
  EXPECT_EQ(WordAt(a_, 0), 42U);
  EXPECT_EQ(WordAt(b_, at), 7U);
  SetWord(a_, 0, 99);
  ASSERT_TRUE(qa_.Post(AtomicWrite{.data = a_.region.Local(0, 8), .remote = b_.region.Remote(at)}));
  EXPECT_EQ(a_.Wait()->opcode, CompletionOpcode::kAtomicWrite);
  EXPECT_EQ(WordAt(b_, at), 99U);
}

TEST_F(PostTest, InlineDataNeedsNoKeyAndMayChangeAtOnce) {
  ASSERT_TRUE(qb_.Post(Receive{.data = b_.region.Local(0, 64)}));
  std::vector<std::byte> bytes(64, std::byte{5});
  const Sge here{reinterpret_cast<uintptr_t>(bytes.data()), 64, Key{}};
  ASSERT_TRUE(qa_.Post(Send{.data = here, .flags = {.inlined = true}}));
  bytes.assign(64, std::byte{6});
  ASSERT_EQ(b_.WaitStatus(), CompletionStatus::kSuccess);
  EXPECT_EQ(b_.memory[63], std::byte{5});
  const Sge too_long{here.address, 129, Key{}};
  EXPECT_EQ(ErrorOf(qa_.Post(Send{.data = too_long, .flags = {.inlined = true}})),
            (PostError{.reason = PostReason::kInlineTooLong, .given = 129, .limit = 128}));
}

TEST_F(PostTest, ASendInvalidatesAKeyOfThePeer) {
  const MemoryWindow window = Good(MemoryWindow::Allocate(b_.domain, WindowType::k2A));
  const Key key = NextKey(window.first_key());
  ASSERT_TRUE(qb_.Post(Bind{.window = window.first_key(),
                            .r_key = key,
                            .region = b_.region.l_key(),
                            .start = b_.region.start(),
                            .length = 64,
                            .access = Access::kRemoteWrite}));
  ASSERT_EQ(b_.WaitStatus(), CompletionStatus::kSuccess);
  ASSERT_TRUE(qb_.Post(Receive{}));
  ASSERT_TRUE(qa_.Post(Send{.invalidate = key}));
  const auto received = b_.Wait();
  EXPECT_TRUE(received->with_invalidate);
  EXPECT_EQ(received->invalidated, key);
}

TEST_F(PostTest, ADelayHoldsBackLaterRequests) {
  const Time start = Now();
  ASSERT_TRUE(qa_.Post(Delay{.duration = std::chrono::milliseconds(20)}));
  ASSERT_TRUE(qa_.Post(Write{.data = a_.region.Local(0, 8), .remote = b_.region.Remote()}));
  EXPECT_EQ(a_.Wait()->opcode, CompletionOpcode::kDelay);
  EXPECT_EQ(a_.Wait()->opcode, CompletionOpcode::kWrite);
  EXPECT_GE(Now() - start, Milliseconds(20));
}

TEST_F(PostTest, Flushes) {
  ASSERT_TRUE(qa_.Post(Write{.data = a_.region.Local(0, 8), .remote = b_.region.Remote()}));
  ASSERT_TRUE(
      qa_.Post(Flush{.remote = b_.region.Remote(), .length = 8, .global_visibility = true}));
  EXPECT_EQ(a_.Wait()->opcode, CompletionOpcode::kWrite);
  const auto flushed = a_.Wait();
  EXPECT_EQ(flushed->opcode, CompletionOpcode::kFlush);
  EXPECT_TRUE(flushed->ok());
}

TEST_F(PostTest, AChainIsPostedUpToTheFirstRefusal) {
  const Write good{.data = a_.region.Local(0, 8), .remote = b_.region.Remote()};
  const std::vector<SendRequest> chain = {
      good, Read{.data = a_.region.Local(8, 8), .remote = b_.region.Remote()},
      Send{.immediate = Immediate{}, .invalidate = Key{}}, good};
  const ChainResult result = qa_.PostChain(chain);
  EXPECT_EQ(result.posted, 2U);
  EXPECT_EQ(CodeOf(result.result), ErrorCode::kInvalid);
  EXPECT_EQ(a_.Wait()->opcode, CompletionOpcode::kWrite);
  EXPECT_EQ(a_.Wait()->opcode, CompletionOpcode::kRead);
  const auto whole = qa_.PostChain(std::span(chain).first(2));
  EXPECT_EQ(whole.posted, 2U);
  EXPECT_TRUE(whole.result.has_value());
  EXPECT_TRUE(a_.Wait()->ok() && a_.Wait()->ok());
}

TEST_F(PostTest, AnAllOrNoneChainPostsNothingIfOneIsRefused) {
  const Write good{.data = a_.region.Local(0, 8), .remote = b_.region.Remote()};
  const std::vector<SendRequest> chain = {good, good,
                                          Send{.immediate = Immediate{}, .invalidate = Key{}}};
  const ChainResult result = qa_.PostChain(chain, Chain::kAllOrNone);
  EXPECT_EQ(result.posted, 0U);
  EXPECT_EQ(CodeOf(result.result), ErrorCode::kInvalid);
  // The first completion is that of the next request, because the two valid ones were not posted.
  const SendRequest last[] = {Read{.data = a_.region.Local(8, 8), .remote = b_.region.Remote()}};
  EXPECT_EQ(qa_.PostChain(last, Chain::kAllOrNone).posted, 1U);
  EXPECT_EQ(a_.Wait()->opcode, CompletionOpcode::kRead);
}

TEST_F(PostTest, AFullQueueIsReported) {
  QueuePair idle = a_.MakeQp();
  Good(idle.Prepare());
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(idle.Post(Receive{}));
  EXPECT_EQ(ErrorOf(idle.Post(Receive{})),
            (PostError{.reason = PostReason::kQueueFull, .given = 64, .limit = 64}));
  // 64 requests fill the queue, and one is too many.
  const std::vector<SendRequest> chain(65, Delay{.duration = std::chrono::seconds(1)});
  const ChainResult result = qa_.PostChain(chain);
  EXPECT_EQ(result.posted, 64U);
  EXPECT_EQ(CodeOf(result.result), ErrorCode::kLimit);
}

TEST_F(PostTest, OnlyDatagramsHaveADestination) {
  EXPECT_EQ(ErrorOf(qa_.Post(Send{.to = Datagram{}})), PostReason::kDestinationNotAllowed);
  QueuePair datagrams = a_.MakeQp(QpType::kUd);
  Good(datagrams.Activate(QKey{1}));
  EXPECT_EQ(ErrorOf(datagrams.Post(Send{})), PostReason::kNoDestination);
  EXPECT_EQ(ErrorOf(datagrams.Post(Send{.invalidate = Key{1}, .to = Datagram{}})),
            PostReason::kInvalidateInDatagram);
}

TEST_F(PostTest, RefusesSendsBeforeConnect) {
  QueuePair fresh = a_.MakeQp();
  const PostError reset{PostReason::kSendsNeedRts, QpState::kReset};
  EXPECT_EQ(ErrorOf(fresh.Post(Send{})), reset);
  EXPECT_EQ(ErrorOf(fresh.Post(Receive{})), PostReason::kReceivesNeedInit);
  const SendRequest chain[] = {Send{}};
  EXPECT_EQ(ErrorOf(fresh.PostChain(chain).result), reset);
  Good(fresh.Prepare());
  EXPECT_EQ(ErrorOf(fresh.Post(Send{})), (PostError{PostReason::kSendsNeedRts, QpState::kInit}));
  EXPECT_TRUE(fresh.Post(Receive{}));
}

TEST_F(PostTest, AnEmptyHandleRefusesPosts) {
  const QueuePair none;
  EXPECT_EQ(ErrorOf(none.Post(Send{})), PostReason::kNoHandle);
  EXPECT_EQ(ErrorOf(none.Post(Write{})), PostReason::kNoHandle);
  EXPECT_EQ(ErrorOf(none.Post(Receive{})), PostReason::kNoHandle);
  const SendRequest chain[] = {Send{}};
  EXPECT_EQ(ErrorOf(none.PostChain(chain).result), PostReason::kNoHandle);
  const Receive receives[1];
  EXPECT_EQ(ErrorOf(none.PostChain(receives).result), PostReason::kNoHandle);
}

TEST_F(PostTest, AnErrorNamesTheArgument) {
  const uint32_t sges_max = a_.Spec().send.sges_max;
  const std::vector<Sge> sges(sges_max + 1, a_.region.Local(0, 1));
  const PostError too_many{
      .reason = PostReason::kTooManySges, .given = sges_max + 1, .limit = sges_max};
  EXPECT_EQ(ErrorOf(qa_.Post(Write{.data = sges, .remote = b_.region.Remote()})), too_many);
  EXPECT_EQ(ErrorOf(qa_.Post(Receive{.data = sges})), PostReason::kTooManySges);
  EXPECT_EQ(ErrorOf(qa_.Post(Read{.flags = {.inlined = true}})), PostReason::kInlineNotAllowed);
  EXPECT_EQ(ErrorOf(qa_.Post(Send{.immediate = Immediate{}, .invalidate = Key{}})),
            PostReason::kInvalidateWithImmediate);
  EXPECT_EQ(ErrorOf(qa_.Post(Bind{.window = Key{0x501}, .r_key = Key{0x402}})),
            PostReason::kKeyOfOtherWindow);
  EXPECT_EQ(ErrorOf(qa_.Post(Delay{.duration = std::chrono::nanoseconds(-1)})),
            PostReason::kNegativeDuration);
  const uint32_t pages_max = a_.Spec().send.pages_max;
  const std::vector<uint64_t> pages(pages_max + 1);
  const PostError too_many_pages{
      .reason = PostReason::kTooManyPages, .given = pages_max + 1, .limit = pages_max};
  EXPECT_EQ(ErrorOf(qa_.Post(Register{.registration = {.pages = pages}})), too_many_pages);
}

TEST_F(PostTest, UnsignaledRequestsDoNotComplete) {
  ASSERT_TRUE(qa_.Post(Write{.id = WrId{1},
                             .data = a_.region.Local(0, 8),
                             .remote = b_.region.Remote(),
                             .flags = {.signaled = false}}));
  ASSERT_TRUE(
      qa_.Post(Write{.id = WrId{2}, .data = a_.region.Local(0, 8), .remote = b_.region.Remote()}));
  EXPECT_EQ(a_.Wait()->id, WrId{2});
}

}  // namespace
}  // namespace verbena
