#pragma once

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/integration/torture_pages.h"
#include "tests/integration/torture_shared.h"
#include "tests/support/adapter_world.h"

namespace verbena::torture {

// The victim as requester: its writes gather from pages that are being changed, and its reads
// scatter to them. The memory of `peer` is not changed.
//
// Thread rule: one thread.
class OwnWork {
 public:
  OwnWork(adapter::TestNode& victim, adapter::TestNode& peer, Shared& shared, const Pages& pages)
      : victim_(victim),
        peer_(peer),
        shared_(shared),
        pages_(pages),
        random_(settings.seed * 131),
        cq_(**victim.adapter().CreateCq(64, nullptr)) {}

  void Run() {
    while (!shared_.is_over.load()) {
      adapter::QueuePair& ours = MakeQp(victim_, QpType::kRc, cq_, cq_);
      adapter::QueuePair& theirs = peer_.MakeQp(QpType::kRc);
      Connect(victim_, ours, peer_, theirs, kLink);
      while (!shared_.is_over.load() && (random_.Chance(1, 2) ? Write(ours) : Read(ours))) {
      }
      adapter::Succeed(victim_.adapter().Destroy(&ours));
      adapter::Succeed(peer_.adapter().Destroy(&theirs));
    }
  }

 private:
  using Status = CompletionStatus;
  using Sges = std::array<Sge, 2>;

  PageEpochs PickTwo() {
    const uint64_t first = random_.Below(kAllPages);
    return {shared_, {first, random_.Below(kAllPages)}};
  }
  // The same bytes of each of the two pages.
  Sges Pieces(const PageEpochs& epochs, uint64_t offset, uint64_t bytes) const {
    return {pages_.Bytes(epochs.slot(0), offset, bytes),
            pages_.Bytes(epochs.slot(1), offset, bytes)};
  }
  bool Do(adapter::QueuePair& qp, queue::SendOpcode opcode, const PageEpochs& epochs,
          const Sges& sges) {
    const auto posted = victim_.adapter().PostSend(
        qp, {.wqe = adapter::MakeSend(opcode, 1, peer_.Remote(0)), .sges = sges});
    CHECK(posted.has_value());
    const Status status = MustComplete(victim_, cq_).status;
    epochs.CheckResult(status, Status::kLocalProtectionError, shared_.own);
    return status == Status::kSuccess;
  }

  bool Write(adapter::QueuePair& qp) {
    const PageEpochs epochs = PickTwo();
    if (!Do(qp, queue::SendOpcode::kWrite, epochs, Pieces(epochs, 0, kStampBytes))) return false;
    for (size_t i = 0; i < 2; ++i) {
      epochs.CheckStamps(peer_.memory().subspan(i * kStampBytes, kStampBytes), i, epochs.now(i));
    }
    return true;
  }

  bool Read(adapter::QueuePair& qp) {
    const PageEpochs epochs = PickTwo();
    const uint64_t offset = OffsetOf(Part::kOwnReads);
    const uint64_t word = MessageWord(++reads_);
    FillWords(peer_.memory().data(), 2 * kPartBytes, word);
    if (!Do(qp, queue::SendOpcode::kRead, epochs, Pieces(epochs, offset, kPartBytes))) return false;
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(pages_.Holds(epochs.slot(i), offset, kPartBytes, word, epochs.before(i)))
          << "page " << epochs.slot(i) << ": the bytes of the read are missing";
    }
    PageEpochs::StopIfFailed();
    return true;
  }

  adapter::TestNode& victim_;
  adapter::TestNode& peer_;
  Shared& shared_;
  const Pages& pages_;
  Random random_;
  adapter::Cq& cq_;
  uint32_t reads_ = 0;
};

}  // namespace verbena::torture
