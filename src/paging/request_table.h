#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "paging/action.h"
#include "paging/frame.h"

namespace verbena::paging {

// A ticket that is not yet answered.
struct RequestRecord {
  Ticket ticket{};
  Run run = {};
  Need need = Need::kRead;
  View view = View::kCpu;
  uint32_t admitted = 0;         // granules, from the first on, that it pins
  uint32_t pledged = 0;          // those of them that it will make dirty
  uint32_t ready = 0;            // those found in memory
  uint32_t next = Frame::kNone;  // next in the line, or waiting for the same frame
};

// The outstanding requests by index, and the line of those that wait for memory, first come first
// served. Allocates all memory in the constructor. Owned by the ResidentSet; one thread at a time.
class RequestTable {
 public:
  static constexpr uint32_t kNone = Frame::kNone;

  explicit RequestTable(uint32_t limit) : records_(limit) {
    free_.reserve(limit);
    for (uint32_t i = limit; i-- > 0;) free_.push_back(i);
  }

  // kNone at the limit.
  [[nodiscard]] uint32_t New(const RequestRecord& record) {
    if (free_.empty()) return kNone;
    const uint32_t index = free_.back();
    free_.pop_back();
    records_[index] = record;
    return index;
  }
  void Delete(uint32_t index) { free_.push_back(index); }

  [[nodiscard]] RequestRecord& operator[](uint32_t index) {
    DCHECK(index < records_.size());
    return records_[index];
  }

  void PushLine(uint32_t index) {
    records_[index].next = kNone;
    (head_ != kNone ? records_[tail_].next : head_) = index;
    tail_ = index;
  }
  void PopLine() {
    CHECK(head_ != kNone);
    head_ = records_[head_].next;
  }

  // The first in line; kNone if no request waits for memory.
  [[nodiscard]] uint32_t head() const { return head_; }
  [[nodiscard]] uint32_t size() const {
    return static_cast<uint32_t>(records_.size() - free_.size());
  }

 private:
  std::vector<RequestRecord> records_;
  std::vector<uint32_t> free_;
  uint32_t head_ = kNone;
  uint32_t tail_ = kNone;
};

}  // namespace verbena::paging
