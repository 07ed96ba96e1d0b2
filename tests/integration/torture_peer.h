#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/integration/torture_pages.h"
#include "tests/integration/torture_receiver.h"
#include "tests/integration/torture_shared.h"
#include "tests/support/adapter_world.h"

namespace verbena::torture {

// A peer that reads and writes the victim's pages, executes atomics on them, sends to the victim,
// and checks all results.
//
// Thread rule: one thread.
class Peer {
 public:
  // The parts of each page that only this peer writes.
  struct Parts {
    Part writes;
    Part atomics;
  };

  // `pages` is null in another process, which cannot access them itself.
  Peer(adapter::TestNode& node, Shared& shared, const Parts& parts, const Pages* pages)
      : node_(node),
        shared_(shared),
        parts_(parts),
        pages_(pages),
        random_(settings.seed * 31 + static_cast<uint64_t>(parts.writes)) {}

  // Whether the connection still works.
  bool Access(adapter::QueuePair& qp) {
    const uint64_t slot = random_.Below(kAllPages);
    switch (random_.Below(4)) {
      case 0:
        return Read(qp, slot);
      case 1:
        return Write(qp, slot);
      case 2:
        return FetchAdd(qp, slot);
      default:
        return Send(qp);
    }
  }

 private:
  using Status = CompletionStatus;
  using SendOpcode = queue::SendOpcode;

  // The last known value of a word that only this peer writes, and the epoch of its page.
  struct Counted {
    uint32_t epoch = 0;
    uint64_t next = 0;
  };

  RemoteAddress Remote(uint64_t slot, uint64_t offset) const {
    return {shared_.addresses[slot].load() + offset, Key(shared_.keys[slot].load())};
  }
  Status Do(adapter::QueuePair& qp, const queue::SendWqe& wqe, uint64_t bytes) {
    adapter::Post(node_, qp, wqe, node_.Bytes(0, bytes));
    return MustComplete(node_, node_.cq()).status;
  }
  bool Succeeds(const PageEpochs& epochs, Status status) const {
    epochs.CheckResult(status, Status::kRemoteAccessError, shared_.remote);
    return status == Status::kSuccess;
  }

  bool Read(adapter::QueuePair& qp, uint64_t slot) {
    const PageEpochs epochs(shared_, {slot});
    const auto status =
        Do(qp, adapter::MakeSend(SendOpcode::kRead, 1, Remote(slot, 0)), kStampBytes);
    if (!Succeeds(epochs, status)) return false;
    epochs.CheckStamps(node_.memory().first(kStampBytes), 0, epochs.now(0));
    return true;
  }

  bool Write(adapter::QueuePair& qp, uint64_t slot) {
    const PageEpochs epochs(shared_, {slot});
    const uint64_t offset = OffsetOf(parts_.writes);
    const uint64_t word = MessageWord(++messages_);
    const RemoteAddress there = Remote(slot, offset);
    FillWords(node_.memory().data(), kPartBytes, word);
    const auto wrote = Do(qp, adapter::MakeSend(SendOpcode::kWrite, 1, there), kPartBytes);
    if (!Succeeds(epochs, wrote)) return false;
    if (pages_ != nullptr) {
      EXPECT_TRUE(pages_->Holds(slot, offset, kPartBytes, word, epochs.before(0)))
          << "page " << slot << ": a write is lost";
      return true;
    }
    FillWords(node_.memory().data(), kPartBytes, 0);
    const auto read = Do(qp, adapter::MakeSend(SendOpcode::kRead, 1, there), kPartBytes);
    if (!Succeeds(epochs, read)) return false;
    EXPECT_TRUE(WordAt(node_.memory().data()) == word || !epochs.unchanged())
        << "page " << slot << ": a write is lost";
    return true;
  }

  // The counter is 0 in a new page, and unchanged in a page that was only absent.
  bool FetchAdd(adapter::QueuePair& qp, uint64_t slot) {
    const PageEpochs epochs(shared_, {slot});
    const queue::Atomic add{.remote = Remote(slot, OffsetOf(parts_.atomics)), .compare_or_add = 1};
    const auto status =
        Do(qp, adapter::MakeSend(SendOpcode::kFetchAndAdd, 1, add), sizeof(uint64_t));
    if (!Succeeds(epochs, status)) return false;
    Counted& counted = counted_[slot];
    const uint64_t found = WordAt(node_.memory().data());
    const bool is_same_page = epochs.unchanged() && counted.epoch == epochs.before(0);
    EXPECT_TRUE(found == counted.next || (found == 0 && !is_same_page))
        << "page " << slot << ": " << found << " where " << counted.next << " was left";
    PageEpochs::StopIfFailed();
    // If the page may have been replaced meanwhile, its epoch is unknown.
    constexpr uint32_t kUnknownEpoch = 1;
    counted = {epochs.unchanged() ? epochs.before(0) : kUnknownEpoch, found + 1};
    return true;
  }

  // The victim checks received messages, and that only changed memory was refused.
  bool Send(adapter::QueuePair& qp) {
    FillWords(node_.memory().data(), Receiver::kMessageBytes, MessageWord(++messages_));
    queue::SendWqe wqe = adapter::MakeSend(SendOpcode::kSendWithImmediate, 1);
    wqe.immediate = Immediate(messages_);
    const auto status = Do(qp, wqe, Receiver::kMessageBytes);
    shared_.remote.all.fetch_add(1);
    if (status == Status::kSuccess) return true;
    shared_.remote.away.fetch_add(1);
    EXPECT_EQ(status, Status::kRemoteOperationError);
    PageEpochs::StopIfFailed();
    return false;
  }

  adapter::TestNode& node_;
  Shared& shared_;
  const Parts parts_;
  const Pages* const pages_;
  Random random_;
  uint32_t messages_ = 0;
  std::vector<Counted> counted_ = std::vector<Counted>(kAllPages);
};

}  // namespace verbena::torture
