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

// A receive request for messages of a tag: for those of which (tag & mask) is this one's tag.
struct TaggedReceive {
  WrId id{};
  uint64_t tag = 0;
  uint64_t mask = 0;
  std::span<const Sge> sges = {};
};

// The tagged receives of a tag matching queue, in the order in which they were added. A message
// takes the oldest that matches; one that finds none is unexpected, and the program looks at it.
//
//   Add: free -> listed      Match: listed -> taken      Give: taken -> free      Remove: -> free
//
// While the program has not looked at an unexpected message yet, it may add a receive that this
// message should have had. Were a later message to take it, the two would have changed places. So
// what is added then is listed but held, until the program says that it has seen as many unexpected
// messages as there were: the two are in step again.
//
// Invariant: the first active_ of the list are not held, and all are active when it is in step.
// Owned by its receive queue. The engine's, one thread at a time; allocates at construction only.
class TagMatcher {
 public:
  static constexpr uint32_t kCapacityMax = 1U << 16;

  // A receive that was taken. A value; good until it is given back.
  using Index = StrongId<struct TagIndexTag, uint32_t>;

  enum class AddError : uint8_t { kFull, kTooManySges };

  // REQUIRES: 1 <= capacity <= kCapacityMax.
  TagMatcher(uint32_t capacity, uint32_t sges_max);

  [[nodiscard]] Result<TagHandle, AddError> Add(const TaggedReceive& receive);
  // False if a message has taken it, or it never was.
  [[nodiscard]] bool Remove(TagHandle handle);

  [[nodiscard]] std::optional<Index> Match(uint64_t tag);
  void Give(Index index);

  // REQUIRES: it is taken.
  [[nodiscard]] WrId IdOf(Index index) const { return At(index).id; }
  [[nodiscard]] uint64_t LengthOf(Index index) const { return At(index).length; }
  [[nodiscard]] std::span<const Sge> SgesOf(Index index) const {
    return {&sges_[size_t{index.value()} * sges_max_], At(index).sge_count};
  }

  // A message was unexpected; or was, and failed before the program could hear of it.
  void CountUnexpected() { ++unexpected_; }
  void DiscountUnexpected();
  // The program has seen so many, all in all.
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
