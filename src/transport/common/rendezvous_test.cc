#include "transport/common/rendezvous.h"

#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "queue/shared_receive_queue.h"
#include "tests/support/pair_fixture.h"
#include "wire/tag_header.h"

// Tag matching on a reliable connection, eager and rendezvous.

namespace verbena::scenario {
namespace {
using wire::RendezvousHeader;
using wire::TagHeader;
using wire::TagOpcode;

constexpr uint64_t kTag = 0x7A7A;
constexpr uint64_t kWhole = ~uint64_t{0};
constexpr uint32_t kContext = 99;

class TagMatchingTest : public PairTest {
 protected:
  ~TagMatchingTest() override {
    EXPECT_TRUE(tags_.IsConsistent());
    EXPECT_TRUE(shared_.IsConsistent());
  }

  void ConnectWith(uint32_t sends_of_b) {
    RcSpec spec_b;
    spec_b.shared = &shared_;
    spec_b.tags = &tags_;
    spec_b.sends.capacity = sends_of_b;
    Connect({}, spec_b);
  }

  void AddTagged(uint64_t id, uint64_t offset, uint64_t length, uint64_t tag = kTag) {
    const std::vector sges = {node_b_.Local(offset, length / 2),
                              node_b_.Local(offset + length / 2, length - length / 2)};
    ASSERT_TRUE(tags_.Add({.id = WrId(id), .tag = tag, .mask = kWhole, .sges = sges}).has_value());
  }
  void AddUntagged(uint64_t id, uint64_t offset, uint64_t length) {
    const std::vector sges = {node_b_.Local(offset, length)};
    ASSERT_TRUE(shared_.Post({.wqe = {.id = WrId(id)}, .sges = sges}).has_value());
  }

  std::span<std::byte> OfA(uint64_t offset, size_t size) const {
    return {node_a_.At(offset), size};
  }
  // Sends a message from A that begins at kMessage.
  void Send(TagOpcode operation, uint64_t length, uint64_t tag = kTag) {
    TagHeader{.operation = operation, .context = kContext, .tag = tag}.Serialize(
        OfA(kMessage, TagHeader::kSize));
    net_.Post(a(), SendOf(1), {node_a_.Local(kMessage, length)});
  }
  // Sends a rendezvous request for the bytes of A from 0 on.
  void SendRendezvous(uint32_t length, uint32_t r_key) {
    RendezvousHeader{.address = RcNode::kBase, .r_key = r_key, .length = length}.Serialize(
        OfA(kMessage + TagHeader::kSize, RendezvousHeader::kSize));
    Send(TagOpcode::kRendezvous, TagHeader::kSize + RendezvousHeader::kSize + 10);
  }
  void SendRendezvous(uint32_t length) { SendRendezvous(length, node_a_.keys.remote.value()); }

  static constexpr uint64_t kMessage = 8 * kPage;

  queue::SharedReceiveQueue shared_{8, 1};
  queue::TagMatcher tags_{8, 2};
};

void ExpectMatched(const Completion& completion, uint64_t id, bool data_valid) {
  EXPECT_EQ(completion.id, WrId(id));
  EXPECT_EQ(completion.status, CompletionStatus::kSuccess) << NameOf(completion.status);
  EXPECT_EQ(completion.opcode, CompletionOpcode::kTagReceive);
  EXPECT_TRUE(completion.tag_matched);
  EXPECT_EQ(completion.tag_data_valid, data_valid);
  EXPECT_EQ(completion.tag, kTag);
  EXPECT_EQ(completion.tag_context, kContext);
}

TEST_F(TagMatchingTest, AnEagerMessageIsPlacedWithoutItsHeader) {
  ConnectWith(8);
  for (const uint64_t length : {TagHeader::kSize, size_t{17}, size_t{1'024}, size_t{5'000}}) {
    AddTagged(5, kPage, length - TagHeader::kSize);
    Send(TagOpcode::kEager, length);
    ASSERT_TRUE(net_.RunUntilIdle());
    const auto received = b().Received();
    ASSERT_EQ(received.size(), 1u);
    ExpectMatched(received[0], 5, true);
    EXPECT_EQ(received[0].byte_count, length - TagHeader::kSize);
    EXPECT_EQ(node_b_.Read(kPage, length - TagHeader::kSize),
              node_a_.Read(kMessage + TagHeader::kSize, length - TagHeader::kSize));
    ExpectSuccess(a().Sent(), {1});
  }
}

// Tagged receives belong to the domain of the queue, whatever that of the connection.
TEST_F(TagMatchingTest, TaggedReceivesBelongToTheQueuesDomain) {
  RcSpec spec_b;
  spec_b.shared = &shared_;
  spec_b.tags = &tags_;
  spec_b.pd = *node_b_.core.domains.Allocate(*node_b_.core.consumers.Open({}));
  Connect({}, spec_b);
  AddTagged(5, kPage, 100);
  Send(TagOpcode::kEager, TagHeader::kSize + 100);
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectMatched(b().Received().at(0), 5, true);
  net_.PostReceive(a(), 30, {node_a_.Local(12 * kPage, 100)});
  AddTagged(6, 2 * kPage, 3'000);
  SendRendezvous(3'000);
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(IdsOf(b().Received()), (std::vector<uint64_t>{6, 6}));
  EXPECT_EQ(node_b_.Read(2 * kPage, 3'000), node_a_.Read(0, 3'000));
}

TEST_F(TagMatchingTest, AnUnexpectedMessageArrivesWithItsHeaderAndIsCounted) {
  ConnectWith(8);
  AddTagged(5, kPage, 100, kTag + 1);
  AddUntagged(6, 3 * kPage, 200);
  Send(TagOpcode::kEager, 100);
  ASSERT_TRUE(net_.RunUntilIdle());
  const auto received = b().Received();
  ExpectSuccess(received, {6});
  EXPECT_EQ(received[0].opcode, CompletionOpcode::kTagReceive);
  EXPECT_FALSE(received[0].tag_matched || received[0].tag_data_valid);
  EXPECT_EQ(received[0].byte_count, 100u);
  EXPECT_EQ(node_b_.Read(3 * kPage, 100), node_a_.Read(kMessage, 100));
  EXPECT_FALSE(tags_.is_in_step());
  tags_.Synchronize(1);
  EXPECT_TRUE(tags_.is_in_step());
}

TEST_F(TagMatchingTest, AnUntaggedMessageIsNotUnexpected) {
  ConnectWith(8);
  for (const TagOpcode operation : {TagOpcode::kNoTag, TagOpcode::kFinished}) {
    AddUntagged(6, 3 * kPage, 200);
    Send(operation, 100);
    ASSERT_TRUE(net_.RunUntilIdle());
    const auto received = b().Received();
    ExpectSuccess(received, {6});
    EXPECT_EQ(received[0].opcode, CompletionOpcode::kNoTagReceive);
  }
  EXPECT_TRUE(tags_.is_in_step());
}

TEST_F(TagMatchingTest, AMessageWithoutAReceiveWaitsForIt) {
  ConnectWith(8);
  Send(TagOpcode::kEager, 100);
  net_.RunFor(Microseconds(200));
  EXPECT_TRUE(b().Received().empty());
  EXPECT_TRUE(tags_.is_in_step());
  AddTagged(5, kPage, 100);
  ASSERT_TRUE(net_.RunUntilIdle());
  const auto received = b().Received();
  ASSERT_EQ(received.size(), 1u);
  ExpectMatched(received[0], 5, true);
}

TEST_F(TagMatchingTest, ARendezvousIsReadAndThePeerIsNotified) {
  ConnectWith(8);
  net_.PostReceive(a(), 30, {node_a_.Local(12 * kPage, 100)});
  AddTagged(5, kPage, 3 * kPage);
  const Bytes wanted = node_a_.Read(0, 2 * kPage + 7);
  SendRendezvous(2 * kPage + 7);
  ASSERT_TRUE(net_.RunUntilIdle());

  const auto received = b().Received();
  ASSERT_EQ(received.size(), 2u);
  ExpectMatched(received[0], 5, false);
  EXPECT_EQ(received[1].id, WrId(5));
  EXPECT_EQ(received[1].status, CompletionStatus::kSuccess);
  EXPECT_EQ(received[1].opcode, CompletionOpcode::kTagReceive);
  EXPECT_FALSE(received[1].tag_matched);
  EXPECT_TRUE(received[1].tag_data_valid);
  EXPECT_EQ(received[1].byte_count, 2 * kPage + 7);
  EXPECT_EQ(node_b_.Read(kPage, wanted.size()), wanted);
  EXPECT_TRUE(b().Sent().empty());

  const auto notices = a().Received();
  ExpectSuccess(notices, {30});
  EXPECT_EQ(notices[0].byte_count, TagHeader::kSize);
  const TagHeader finished{.operation = TagOpcode::kFinished, .context = kContext, .tag = kTag};
  EXPECT_EQ(TagHeader::Parse(OfA(12 * kPage, TagHeader::kSize)), finished);
}

TEST_F(TagMatchingTest, AnUnexpectedRendezvousIsLeftToTheProgram) {
  ConnectWith(8);
  AddUntagged(6, 3 * kPage, 200);
  SendRendezvous(100);
  ASSERT_TRUE(net_.RunUntilIdle());
  const auto received = b().Received();
  ExpectSuccess(received, {6});
  EXPECT_EQ(received[0].byte_count, 42u);
  EXPECT_FALSE(tags_.is_in_step());
}

TEST_F(TagMatchingTest, TagMatchingSurvivesLossAndAbsentPages) {
  ConnectWith(8);
  uint32_t packets = 0;
  net_.SetLink(
      [&](const Passing&) { return ++packets % 5 == 0 ? LinkAction::Drop() : LinkAction::Pass(); });
  node_b_.Evict(1, 3);
  net_.PostReceive(a(), 30, {node_a_.Local(12 * kPage, 100)});
  AddTagged(5, kPage, 2 * kPage);
  AddTagged(6, 3 * kPage, 3'000);
  const Bytes wanted = node_a_.Read(0, 2 * kPage);
  SendRendezvous(2 * kPage);
  ASSERT_TRUE(net_.RunUntilIdle());
  Send(TagOpcode::kEager, 3'000);
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(IdsOf(b().Received()), (std::vector<uint64_t>{5, 5, 6}));
  EXPECT_EQ(node_b_.Read(kPage, wanted.size()), wanted);
  EXPECT_EQ(node_b_.Read(3 * kPage, 3'000 - TagHeader::kSize),
            node_a_.Read(kMessage + TagHeader::kSize, 3'000 - TagHeader::kSize));
  ExpectSuccess(a().Received(), {30});
}

TEST_F(TagMatchingTest, ARendezvousWaitsForRoomInTheSendQueue) {
  ConnectWith(2);
  net_.PostReceive(a(), 30, {node_a_.Local(12 * kPage, 100)});
  net_.SetLink([](const Passing&) { return LinkAction::Late(Milliseconds(1)); });
  net_.Post(b(), WriteOf(7, node_a_.Remote(13 * kPage)), {node_b_.Local(0, 8)});
  AddTagged(5, kPage, 100);
  SendRendezvous(100);
  ASSERT_TRUE(net_.RunUntilIdle());
  ExpectSuccess(b().Sent(), {7});
  ExpectSuccess(b().Received(), {5, 5});
  ExpectSuccess(a().Received(), {30});
}

TEST_F(TagMatchingTest, ARefusedReadFailsTheReceive) {
  ConnectWith(8);
  AddTagged(5, kPage, 100);
  SendRendezvous(100, node_a_.keys.remote.value() ^ 1);
  ASSERT_TRUE(net_.RunUntilIdle());
  const auto received = b().Received();
  ASSERT_EQ(received.size(), 2u);
  ExpectMatched(received[0], 5, false);
  EXPECT_EQ(received[1].id, WrId(5));
  EXPECT_EQ(received[1].status, CompletionStatus::kRemoteAccessError);
  EXPECT_TRUE(b().Sent().empty());
  EXPECT_EQ(b().qp->state(), QpState::kErr);
}

TEST_F(TagMatchingTest, AMessageLongerThanItsReceiveEndsTheConnection) {
  for (const bool is_rendezvous : {false, true}) {
    ConnectWith(8);
    AddTagged(5, kPage, 50);
    is_rendezvous ? SendRendezvous(51) : Send(TagOpcode::kEager, TagHeader::kSize + 51);
    ASSERT_TRUE(net_.RunUntilIdle());
    EXPECT_EQ(StatusesOf(a().Sent()), std::vector{CompletionStatus::kRemoteInvalidRequest});
    const auto received = b().Received();
    EXPECT_EQ(StatusesOf(received), std::vector{CompletionStatus::kLocalLengthError});
    EXPECT_EQ(IdsOf(received), std::vector<uint64_t>{5});
  }
}

TEST_F(TagMatchingTest, AWaitingRendezvousIsFlushed) {
  ConnectWith(1);  // too few elements: it waits for ever
  AddTagged(5, kPage, 100);
  SendRendezvous(100);
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(b().Received().size(), 1u);
  b().qp->BecomeFailed();
  net_.Touch(b());
  ASSERT_TRUE(net_.RunUntilIdle());
  const auto received = b().Received();
  EXPECT_EQ(StatusesOf(received), std::vector{CompletionStatus::kFlushed});
  EXPECT_EQ(IdsOf(received), std::vector<uint64_t>{5});
}

TEST_F(TagMatchingTest, AnUnexpectedMessageThatFailsIsNotCounted) {
  ConnectWith(8);
  AddUntagged(6, 3 * kPage, 50);
  Send(TagOpcode::kEager, 100);
  ASSERT_TRUE(net_.RunUntilIdle());
  EXPECT_EQ(StatusesOf(b().Received()), std::vector{CompletionStatus::kLocalLengthError});
  EXPECT_TRUE(tags_.is_in_step());
}

}  // namespace
}  // namespace verbena::scenario
