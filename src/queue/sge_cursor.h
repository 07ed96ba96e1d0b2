#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "queue/wqe.h"

namespace verbena::queue {

// A position in the message that a scatter/gather list describes. Moves forward as packets are
// built, and back when packets are retransmitted; either costs one step per element crossed.
//
// Invariant: start_ is the message offset at which element index_ begins, and start_ <= offset_.
// Does not own the list. A value type: a copy saves the position.
class SgeCursor {
 public:
  SgeCursor() = default;
  explicit SgeCursor(std::span<const Sge> list) : list_(list) {}

  // Returns the next bytes that are contiguous in memory, `max` at most, and moves behind them.
  // nullopt at the end of the message, or if `max` is 0. An element that runs past address 2^64 is
  // returned as it is: the translation refuses it.
  [[nodiscard]] std::optional<Sge> Next(uint64_t max) {
    if (max == 0) return std::nullopt;
    SkipFinished();
    if (index_ == list_.size()) return std::nullopt;
    const Sge& sge = list_[index_];
    const uint64_t skipped = offset_ - start_;
    const auto length = static_cast<uint32_t>(std::min<uint64_t>(max, sge.length - skipped));
    offset_ += length;
    return Sge{.address = sge.address + skipped, .length = length, .key = sge.key};
  }

  // REQUIRES: `offset` is not beyond the end of the message.
  void Seek(uint64_t offset) {
    while (offset < start_) start_ -= list_[--index_].length;
    offset_ = offset;
    SkipFinished();
    CHECK(index_ < list_.size() || offset_ == start_);
  }

  [[nodiscard]] uint64_t offset() const { return offset_; }

  [[nodiscard]] bool IsConsistent() const {
    if (index_ > list_.size() || offset_ < start_) return false;
    uint64_t start = 0;
    for (const Sge& sge : list_.first(index_)) start += sge.length;
    return start == start_;
  }

 private:
  void SkipFinished() {
    while (index_ < list_.size() && offset_ - start_ >= list_[index_].length) {
      start_ += list_[index_++].length;
    }
  }

  std::span<const Sge> list_;
  size_t index_ = 0;
  uint64_t start_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace verbena::queue
