#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/time.h"
#include "tests/integration/torture_pages.h"
#include "tests/integration/torture_shared.h"
#include "tests/support/adapter_world.h"

namespace verbena::torture {

// The victim's receives, with buffers in pages that are being changed. It serves one queue pair at
// a time. A message has its number as immediate data, and repeats one word.
//
// Thread rule: one thread.
class Receiver {
 public:
  static constexpr uint64_t kMessageBytes = 128;

  Receiver(adapter::TestNode& victim, Shared& shared, const Pages& pages, Part part)
      : victim_(victim),
        shared_(shared),
        pages_(pages),
        offset_(OffsetOf(part)),
        random_(settings.seed * 77 + offset_),
        cq_(**victim.adapter().CreateCq(64, nullptr)) {}

  adapter::Cq& cq() { return cq_; }

  // Starts to receive on `qp`; `headroom` is the size of the header before each message. REQUIRES:
  // the previous queue pair is destroyed.
  void Begin(adapter::QueuePair& qp, uint64_t headroom = 0) {
    qp_ = &qp;
    headroom_ = headroom;
    posted_.clear();
  }

  void Refill() {
    constexpr size_t kDepth = 4;
    while (posted_.size() < kDepth) {
      const uint64_t slot = PickFree();
      posted_.push_back({++ids_, PageEpochs(shared_, {slot})});
      PostReceive(victim_, *qp_, ids_, pages_.Bytes(slot, offset_, headroom_ + kMessageBytes));
    }
  }

  // The status of the oldest receive, if it completes in time.
  std::optional<CompletionStatus> Take(Duration timeout) {
    const auto completion = victim_.Wait(&cq_, timeout);
    if (!completion) return std::nullopt;
    CHECK(!posted_.empty());
    EXPECT_EQ(completion->id.value(), posted_.front().id) << "receives complete in order";
    CheckResult(*completion, posted_.front().epochs);
    posted_.pop_front();
    return completion->status;
  }

 private:
  struct Posted {
    uint64_t id = 0;
    PageEpochs epochs;
  };

  // A page without a pending receive.
  uint64_t PickFree() {
    const auto is_taken = [this](uint64_t slot) {
      return std::ranges::any_of(posted_,
                                 [slot](const Posted& one) { return one.epochs.slot(0) == slot; });
    };
    uint64_t slot = random_.Below(kAllPages);
    while (is_taken(slot)) slot = random_.Below(kAllPages);
    return slot;
  }

  void CheckResult(const Completion& completion, const PageEpochs& epochs) {
    if (completion.status == CompletionStatus::kFlushed) return;
    epochs.CheckResult(completion.status, CompletionStatus::kLocalProtectionError,
                       shared_.receives);
    if (completion.status != CompletionStatus::kSuccess) return;
    EXPECT_EQ(completion.byte_count, headroom_ + kMessageBytes);
    EXPECT_TRUE(pages_.Holds(epochs.slot(0), offset_ + headroom_, kMessageBytes,
                             MessageWord(completion.immediate.value()), epochs.before(0)))
        << "page " << epochs.slot(0) << ": the bytes of a message are missing";
    PageEpochs::StopIfFailed();
  }

  adapter::TestNode& victim_;
  Shared& shared_;
  const Pages& pages_;
  const uint64_t offset_;
  Random random_;
  adapter::Cq& cq_;
  adapter::QueuePair* qp_ = nullptr;
  uint64_t headroom_ = 0;
  uint64_t ids_ = 0;
  std::deque<Posted> posted_;
};

}  // namespace verbena::torture
