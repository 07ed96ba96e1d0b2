#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "wire/roce/types.h"

namespace verbena::adapter {

// Which process of a machine a queue pair is in: the first eight bits of its number.
//
//    23           16 15                             0
//   +---------------+--------------------------------+
//   |     slot      |            number              |
//   +---------------+--------------------------------+
[[nodiscard]] constexpr uint8_t SlotOf(wire::QpNumber qp) {
  return static_cast<uint8_t>(qp.value() >> 16);
}

// Finds queue pairs by number, in one step, and gives out numbers: each goes on from the last, so
// that a number comes back only when all others have had their turn, and what is still on its way
// to a queue pair that is gone does not meet its successor.
//
// Owns what it holds. Invariant: entries_[n] is the queue pair with number slot:n. One thread at a
// time: its owner guards it.
template <class Qp>
class QpTable {
 public:
  // Numbers 0 and 1 are for management (IBA 3.9), the last of the last slot is for multicast.
  static constexpr uint32_t kFirst = 2;
  static constexpr uint32_t kEnd = 0xFFFF;
  static constexpr uint32_t kNumbers = kEnd - kFirst;

  QpTable(uint8_t slot, uint32_t qps_max) : slot_(slot), qps_max_(qps_max) {
    CHECK(qps_max <= kNumbers);
  }
  QpTable(const QpTable&) = delete;
  QpTable& operator=(const QpTable&) = delete;

  // The number that the next queue pair is to have; nullopt when there are qps_max.
  [[nodiscard]] std::optional<wire::QpNumber> NextNumber() {
    if (size_ == qps_max_) return std::nullopt;
    while (Entry(next_) != nullptr) Step();
    return wire::QpNumber(uint32_t{slot_} << 16 | next_);
  }

  // REQUIRES: its number is what NextNumber returned last.
  Qp& Insert(std::unique_ptr<Qp> qp) {
    CHECK(qp->number() == NextNumber());
    if (next_ >= entries_.size()) entries_.resize(next_ + 1);
    std::unique_ptr<Qp>& entry = entries_[next_];
    entry = std::move(qp);
    ++size_;
    Step();
    return *entry;
  }

  // nullptr if there is none.
  [[nodiscard]] Qp* Find(wire::QpNumber number) const {
    return SlotOf(number) == slot_ ? Entry(number.value() & 0xFFFF) : nullptr;
  }

  // REQUIRES: it is there.
  void Erase(wire::QpNumber number) {
    CHECK(Find(number) != nullptr);
    entries_[number.value() & 0xFFFF].reset();
    --size_;
  }

  [[nodiscard]] uint8_t slot() const { return slot_; }
  [[nodiscard]] size_t size() const { return size_; }

  // By ascending number. `fn` may erase the one that it is called with.
  template <class Fn>
  void ForEach(Fn fn) {
    for (const std::unique_ptr<Qp>& entry : entries_) {
      if (entry != nullptr) fn(*entry);
    }
  }

 private:
  Qp* Entry(uint32_t n) const { return n < entries_.size() ? entries_[n].get() : nullptr; }
  void Step() { next_ = next_ + 1 == kEnd ? kFirst : next_ + 1; }

  const uint8_t slot_;
  const uint32_t qps_max_;
  std::vector<std::unique_ptr<Qp>> entries_;
  uint32_t next_ = kFirst;
  size_t size_ = 0;
};

}  // namespace verbena::adapter
