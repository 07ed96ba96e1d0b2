#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/interval_map.h"
#include "base/lazy_array.h"
#include "cache/entry.h"

namespace verbena::cache {

// Chooses which entry to collect when a limit is reached: S3-FIFO. A new entry is on probation, in
// a queue of a tenth of all. If it was used again by the time it gets to the front, it moves to the
// main queue; otherwise it is chosen, and remembered, so that it skips probation if it comes back.
// At the front of the main queue, an entry that was used goes to the back. So buffers that are used
// once, however many, do not push out those that are used again and again; LRU lets them.
//
// A use costs nothing here: References counts it anyway, and Choose looks.
//
// Under the core's mutex.
class RegistrationEviction {
 public:
  enum class Use : uint8_t { kHeld, kUsed, kIdle };  // now; since the last look; neither

  explicit RegistrationEviction(size_t entries) : links_(entries), remembered_(entries) {}

  void Insert(EntryNumber number, Interval bytes);
  // Does nothing if it is in no queue.
  void Remove(EntryNumber number);

  // Calls look(number) and returns an idle entry, which leaves its queue; none if all are held.
  template <class Look>
  [[nodiscard]] std::optional<EntryNumber> Choose(Look look) {
    // Each entry is seen twice at most: used, and then idle.
    for (size_t left = 2 * size() + 1; left > 0 && size() > 0; --left) {
      Queue& queue = TakesFromProbation() ? probation_ : main_;
      const EntryNumber number = queue.first - 1;
      const Use use = look(number);
      if (use == Use::kIdle) {
        if (&queue == &probation_) Remember(links_[number].place);
        Remove(number);
        return number;
      }
      Unlink(queue, number);
      Append(main_, number);
    }
    return std::nullopt;
  }

  [[nodiscard]] size_t size() const { return probation_.size + main_.size; }

 private:
  // Numbers are stored plus 1, so that 0 is none.
  struct Queue {
    uint32_t first = 0;
    uint32_t last = 0;
    size_t size = 0;
  };
  struct Link {
    uint32_t before;
    uint32_t after;
    Queue* queue;    // nullptr: in none
    uint64_t place;  // identifies the memory
  };

  [[nodiscard]] bool TakesFromProbation() const {
    return probation_.size > 0 && (main_.size == 0 || probation_.size * 10 > size());
  }
  void Append(Queue& queue, EntryNumber number);
  void Unlink(Queue& queue, EntryNumber number);
  void Remember(uint64_t place) { remembered_[place % remembered_.size()] = place; }

  LazyArray<Link> links_;
  LazyArray<uint64_t> remembered_;  // places that left probation, at place % size
  Queue probation_;
  Queue main_;
};

}  // namespace verbena::cache
