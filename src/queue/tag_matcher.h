#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "queue/wqe.h"
#include "verbena/strong_id.h"

namespace verbena::queue {

// A receive request for messages whose (tag & mask) is `tag`.
struct TaggedReceive {
  WrId id{};
  uint64_t tag = 0;
  uint64_t mask = 0;
  std::span<const Sge> sges = {};
};

// The tagged receives of a tag matching queue, in the order in which they were added. A message
// takes the oldest that matches; a message without a match is unexpected, and goes to the program.
//
//   Add: free -> listed      Match: listed -> taken      Give: taken -> free      Remove: -> free
//
// Before the program has seen an unexpected message, it may add a receive that would have matched
// it. If a later message took that receive, the two messages would be reordered. So receives added
// then are listed but held, until the program reports that it has seen as many unexpected messages
// as there were: then both sides are in step.
//
// Invariant: the first active_ elements of the list are not held; in step, all are active. Owned by
// its receive queue. For the engine, one thread at a time; allocates at construction only.
class TagMatcher {
 public:
  static constexpr uint32_t kCapacityMax = 1U << 16;

  // A taken receive. A value type; valid until it is given back.
  using Index = StrongId<struct TagIndexTag, uint32_t>;

  enum class AddError : uint8_t { kFull, kTooManySges };

  // REQUIRES: 1 <= capacity <= kCapacityMax.
  TagMatcher(uint32_t capacity, uint32_t sges_max);

  [[nodiscard]] Result<TagHandle, AddError> Add(const TaggedReceive& receive);
  // False if a message has taken it, or if it does not exist.
  [[nodiscard]] bool Remove(TagHandle handle);

  [[nodiscard]] std::optional<Index> Match(uint64_t tag);
  void Give(Index index);

  // REQUIRES: it is taken.
  [[nodiscard]] WrId IdOf(Index index) const { return At(index).id; }
  [[nodiscard]] uint64_t LengthOf(Index index) const { return At(index).length; }
  [[nodiscard]] std::span<const Sge> SgesOf(Index index) const {
    return {&sges_[size_t{index.value()} * sges_max_], At(index).sge_count};
  }

  // Counts an unexpected message; takes back the count of one that failed before the program saw
  // it.
  void CountUnexpected() { ++unexpected_; }
  void DiscountUnexpected();
  // The program has seen this many in total.
  void Synchronize(uint32_t seen);
  [[nodiscard]] bool is_in_step() const { return seen_ == unexpected_; }

  [[nodiscard]] uint32_t capacity() const { return static_cast<uint32_t>(entries_.size()); }
  [[nodiscard]] uint32_t sges_max() const { return sges_max_; }
  [[nodiscard]] size_t size() const { return list_.size(); }

  [[nodiscard]] bool IsConsistent() const;

 private:
  enum class State : uint8_t { kFree, kListed, kTaken };

  struct Entry {
    WrId id{};
    uint64_t tag = 0;
    uint64_t mask = 0;
    uint64_t length = 0;
    uint32_t sge_count = 0;
    uint16_t variant = 0;
    State state = State::kFree;
  };

  [[nodiscard]] const Entry& At(Index index) const { return entries_[index.value()]; }
  [[nodiscard]] TagHandle HandleOf(uint32_t index) const;
  void ActivateIfInStep() {
    if (is_in_step()) active_ = list_.size();
  }
  void Unlist(size_t place);
  void Free(uint32_t index);

  const uint32_t sges_max_;
  std::vector<Entry> entries_;
  std::unique_ptr<Sge[]> sges_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> list_;  // oldest first
  size_t active_ = 0;           // of the list
  uint32_t unexpected_ = 0;
  uint32_t seen_ = 0;
};

}  // namespace verbena::queue
