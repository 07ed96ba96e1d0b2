#include "transport/common/unreliable_sender.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/unreliable_fixture.h"
#include "transport/common/placement.h"

// What both unreliable services send is tested in uc_qp_test.cc and ud_qp_test.cc. This file tests
// packets that could not be sent.

namespace verbena::transport {
namespace {
using queue::SendOpcode;

constexpr Psn kStart(wire::kMax24);  // the PSN wraps at the second packet

class UnreliableSenderTest : public UnreliableFixture {
 protected:
  UnreliableSenderTest() { sender_.Start(kStart); }

  void Post(uint64_t id, uint32_t length) {
    queue::SendWqe wqe{.id = WrId(id), .flags = {.signaled = true}};
    PostSend(wqe, {SgeOf(0, length)});
  }
  // Pumps, and takes back the packet at `lost`, as if it could not be copied.
  void Pump(std::optional<size_t> lost = {}) {
    Step step = MakeStep();
    sender_.Pump(step);
    const auto packets = outbox_.packets();
    for (size_t i = lost.value_or(packets.size()); i < packets.size(); ++i) {
      sender_.TakeBack(wire::Bth::Parse(packets[i].header)->psn, i == *lost);
      EXPECT_TRUE(sender_.IsConsistent());
    }
    const size_t kept = lost.value_or(packets.size());
    while (outbox_.packets().size() > kept) outbox_.DropLastPacket();
    Empty();
  }
  std::vector<Psn> Psns() const {
    std::vector<Psn> psns;
    for (size_t i = 0; i < packets_.size(); ++i) psns.push_back(PacketAt(i).bth().psn);
    return psns;
  }
  std::vector<uint64_t> Completed() {
    std::vector<uint64_t> ids;
    for (const auto& completion : Poll(send_cq_)) ids.push_back(completion.id.value());
    return ids;
  }

  UnreliableSender sender_{{.local_qp = QpNumber(1),
                            .path_mtu = kMtu,
                            .who = me_,
                            .registration = RegistrationMode::kAnticipatory,
                            .peers = ConnectedPeer{QpNumber(2), PathId(9)}},
                           send_queue_,
                           send_cq_};
};

TEST_F(UnreliableSenderTest, PacketsTakenBackAreSentInOrderAndCompleteOnce) {
  Post(1, kMtu);
  Post(2, 2 * kMtu);
  Post(3, 8);
  Pump(1);  // the first packet of the second message; the two after it follow
  EXPECT_EQ(Psns(), (std::vector{kStart}));
  EXPECT_TRUE(sender_.wants_step());
  Pump();
  EXPECT_EQ(Psns(), (std::vector{kStart, kStart + 1, kStart + 2, kStart + 3}));
  EXPECT_EQ(Completed(), (std::vector<uint64_t>{1})) << "the others may be taken back again";
  Pump();
  EXPECT_EQ(Completed(), (std::vector<uint64_t>{2, 3}));
  EXPECT_TRUE(sender_.is_drained());
}

TEST_F(UnreliableSenderTest, RewindsIntoTheMiddleOfAMessage) {
  Post(1, 3 * kMtu);
  Pump(1);
  Pump(0);
  EXPECT_EQ(Psns(), (std::vector{kStart}));
  Pump();
  EXPECT_EQ(Psns(), (std::vector{kStart, kStart + 1, kStart + 2}));
  EXPECT_EQ(PacketAt(2).info().position, wire::Position::kLast);
  EXPECT_TRUE(Completed().empty());
  Pump();
  EXPECT_EQ(Completed(), (std::vector<uint64_t>{1}));
}

TEST_F(UnreliableSenderTest, WaitsForMissingPages) {
  Post(1, 8);
  Pump(0);
  Evict(0);
  Pump();
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_TRUE(packets_.empty());
  Restore(0);
  sender_.OnPagesReady(requests_[0].ticket, true);
  Pump();
  Pump();
  EXPECT_EQ(Psns(), (std::vector{kStart}));
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kSuccess}));
}

TEST_F(UnreliableSenderTest, PagesThatCannotBePagedInFailTheMessageInOrder) {
  Post(1, 8);
  Post(2, 8);
  Pump(1);
  Evict(0);
  Pump();
  ASSERT_EQ(requests_.size(), 1u);
  sender_.OnPagesReady(requests_[0].ticket, false);
  Pump();
  EXPECT_TRUE(sender_.has_failed());
  EXPECT_EQ(SendStatuses(),
            (std::vector{CompletionStatus::kSuccess, CompletionStatus::kLocalProtectionError}));
}

TEST_F(UnreliableSenderTest, AMessageMayLosePagesOnlySoOften) {
  Post(1, 8);
  for (int i = 0; i <= kLossesMax; ++i) {
    EXPECT_FALSE(sender_.has_failed());
    Pump(0);
  }
  Pump();
  EXPECT_TRUE(sender_.has_failed());
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kLocalProtectionError}));
  // The next element may lose pages as often.
  sender_.Resume();
  Post(2, 8);
  Pump(0);
  Pump();
  Pump();
  EXPECT_EQ(SendStatuses(), (std::vector{CompletionStatus::kSuccess}));
}

TEST_F(UnreliableSenderTest, LocalWorkAfterATakenBackPacketIsNotDoneTwice) {
  Post(1, 8);
  const Key key = core_.regions.Reserve(pd_, 1, PageShift(12))->local;
  const std::vector pages = {AddressOf(0)};
  queue::SendWqe wqe{.id = WrId(2), .opcode = SendOpcode::kRegister};
  wqe.operand = queue::RegistrationOperand{.key = key,
                                           .rights = Access::kLocalRead,
                                           .page_shift = 12,
                                           .start = AddressOf(0),
                                           .length = memory::kPage};
  ASSERT_TRUE(send_queue_.Post({.wqe = wqe, .pages = pages}).has_value());
  Post(3, 8);
  Pump(0);
  EXPECT_FALSE(sender_.is_drained());
  Pump();
  Pump();
  EXPECT_EQ(SendStatuses(), (std::vector(2, CompletionStatus::kSuccess)));
  EXPECT_EQ(packets_.size(), 2u);
}

TEST_F(UnreliableSenderTest, ALaterElementRequestsItsPagesAgain) {
  Post(1, 8);
  PostSend({.id = WrId(2), .flags = {.signaled = true}}, {SgeOf(memory::kPage, 8)});
  Evict(1);
  Pump(0);
  ASSERT_EQ(requests_.size(), 1u);
  sender_.OnPagesReady(requests_[0].ticket, false);  // the wait is over
  Pump();
  ASSERT_EQ(requests_.size(), 2u);
  Restore(1);
  sender_.OnPagesReady(requests_[1].ticket, true);
  Pump();
  Pump();
  EXPECT_EQ(SendStatuses(), (std::vector(2, CompletionStatus::kSuccess)));
}

}  // namespace
}  // namespace verbena::transport
