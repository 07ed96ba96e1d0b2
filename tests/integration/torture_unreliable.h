#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/time.h"
#include "tests/integration/torture_pages.h"
#include "tests/integration/torture_receiver.h"
#include "tests/integration/torture_shared.h"
#include "tests/support/adapter_world.h"

namespace verbena::torture {

// The victim and a peer exchange messages over UC and UD, from and to pages that are being changed.
// Messages may be lost; received ones are checked, and sends must complete.
//
// Thread rule: one thread.
class Unreliable {
 public:
  Unreliable(adapter::TestNode& victim, adapter::TestNode& peer, Shared& shared, const Pages& pages)
      : victim_(victim),
        peer_(peer),
        shared_(shared),
        pages_(pages),
        random_(settings.seed * 977),
        cq_(**victim.adapter().CreateCq(64, nullptr)),
        peer_receives_(**peer.adapter().CreateCq(64, nullptr)),
        receiver_(victim, shared, pages, Part::kUnreliableReceives),
        to_victim_(*peer.adapter().CreateAddressHandle(peer.pd(), PathFrom(peer, victim))),
        to_peer_(*victim.adapter().CreateAddressHandle(victim.pd(), PathFrom(victim, peer))) {}

  void Run() {
    for (uint64_t life = 0; !shared_.is_over.load(); ++life) {
      Live(life % 2 == 0 ? QpType::kUd : QpType::kUc);
    }
  }

 private:
  using Status = CompletionStatus;
  using QueuePair = adapter::QueuePair;

  // Usually longer than a datagram takes within this machine.
  static constexpr Duration kTimeout = Milliseconds(2);
  static constexpr uint64_t kGrhBytes = 40;

  // Runs until a receive of the victim fails, which ends its queue pair. A failed send does not.
  void Live(QpType type) {
    QueuePair& ours = MakeQp(victim_, type, cq_, receiver_.cq());
    QueuePair& theirs = MakeQp(peer_, type, peer_.cq(), peer_receives_);
    Connect(victim_, ours, peer_, theirs, kLink);
    headroom_ = type == QpType::kUd ? kGrhBytes : 0;
    has_receive_ = false;
    receiver_.Begin(ours, headroom_);
    for (int i = 0; i < 1'000 && !shared_.is_over.load(); ++i) {
      if (!SendToVictim(theirs, ours) || !SendFromVictim(ours, theirs)) break;
    }
    adapter::Succeed(victim_.adapter().Destroy(&ours));
    adapter::Succeed(peer_.adapter().Destroy(&theirs));
  }

  queue::SendWqe MessageTo(const QueuePair& qp, AddressHandleId way) {
    queue::SendWqe wqe = adapter::MakeSend(queue::SendOpcode::kSendWithImmediate, 1);
    wqe.immediate = Immediate(++messages_);
    if (qp.spec().type == QpType::kUd) {
      wqe.operand = Datagram{.handle = way, .qp = qp.number(), .q_key = adapter::kTestQKey};
    }
    return wqe;
  }

  // Whether the victim's queue pair still works.
  bool SendToVictim(QueuePair& from, const QueuePair& to) {
    receiver_.Refill();
    const queue::SendWqe wqe = MessageTo(to, to_victim_);
    FillWords(peer_.memory().data(), Receiver::kMessageBytes, MessageWord(messages_));
    adapter::Post(peer_, from, wqe, peer_.Bytes(0, Receiver::kMessageBytes));
    EXPECT_EQ(MustComplete(peer_, peer_.cq()).status, Status::kSuccess);
    const auto status = receiver_.Take(kTimeout);
    if (status == Status::kSuccess) shared_.arrived.fetch_add(1);
    return !status || status == Status::kSuccess;
  }

  // Whether the victim's queue pair still works.
  bool SendFromVictim(QueuePair& from, QueuePair& to) {
    const PageEpochs epochs(shared_, {random_.Below(kAllPages)});
    const queue::SendWqe wqe = MessageTo(to, to_peer_);
    PostPeerReceive(to);
    adapter::Post(victim_, from, wqe, pages_.Bytes(epochs.slot(0), 0, kStampBytes));
    const Status status = MustComplete(victim_, cq_).status;
    if (status == Status::kFlushed) return EndByReceive();
    epochs.CheckResult(status, Status::kLocalProtectionError, shared_.unreliable);
    const uint32_t after = epochs.now(0);
    if (status != Status::kSuccess && !Resumes(from)) return EndByReceive();
    CheckPeerReceive(epochs, after);
    return true;
  }

  // Only a failed receive ends the victim's queue pair.
  bool EndByReceive() {
    auto status = receiver_.Take(Seconds(20));
    while (status == Status::kSuccess) status = receiver_.Take(Seconds(20));
    EXPECT_EQ(status, Status::kLocalProtectionError);
    PageEpochs::StopIfFailed();
    return false;
  }

  // One at a time, so that a received message stays until it was checked.
  void PostPeerReceive(QueuePair& qp) {
    if (std::exchange(has_receive_, true)) return;
    adapter::PostReceive(peer_, qp, 1, peer_.Bytes(kPage, headroom_ + kStampBytes));
  }

  void CheckPeerReceive(const PageEpochs& epochs, uint32_t after) {
    const auto completion = peer_.Wait(&peer_receives_, kTimeout);
    if (!completion) return;
    has_receive_ = false;
    EXPECT_EQ(completion->status, Status::kSuccess);
    shared_.arrived.fetch_add(1);
    // A late message belongs to other pages.
    if (completion->immediate.value() != messages_) return;
    epochs.CheckStamps(peer_.memory().subspan(kPage + headroom_, kStampBytes), 0, after);
  }

  // IBA 10.3.1.6: a failed send stops the send queue until the program resumes it.
  bool Resumes(QueuePair& qp) {
    adapter::QpChange change;
    change.attributes.state = QpState::kRts;
    change.mask = adapter::Attribute::kState;
    return victim_.adapter().Modify(qp, change).has_value();
  }

  adapter::TestNode& victim_;
  adapter::TestNode& peer_;
  Shared& shared_;
  const Pages& pages_;
  Random random_;
  adapter::Cq& cq_;
  adapter::Cq& peer_receives_;
  Receiver receiver_;
  const AddressHandleId to_victim_;
  const AddressHandleId to_peer_;
  uint64_t headroom_ = 0;
  bool has_receive_ = false;  // of the peer
  uint32_t messages_ = 0;
};

}  // namespace verbena::torture
