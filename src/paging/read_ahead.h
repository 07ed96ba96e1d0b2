#pragma once

#include <array>
#include <cstdint>

#include "paging/action.h"

namespace verbena::paging {

// What will probably be wanted next. Remembers where the last few sequences of wants have ended; a
// want that goes on there makes its sequence's window twice as large. Windows start at nothing: the
// first want of a sequence looks like any other. Granules read for nothing halve all windows, those
// that were wanted widen them again.
//
// Ascending sequences only. Owned by the ResidentSet; one thread at a time.
class ReadAhead {
 public:
  explicit ReadAhead(uint32_t window_max) : window_max_(window_max), ceiling_(window_max) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // What to read beside `wanted`: a run behind it, perhaps of no granules, perhaps past the end of
  // the arena.
  [[nodiscard]] Run OnRequest(Run wanted);
  // Of what OnRequest said last, only what lies before `end` is being read.
  void Cut(uint64_t end) { last_->ahead = end; }
  // A granule that was read ahead has been wanted, or has left without.
  void OnHit();
  void OnWaste() { ceiling_ = ceiling_ > 1 ? ceiling_ / 2 : ceiling_; }

  [[nodiscard]] uint32_t ceiling() const { return ceiling_; }

 private:
  static constexpr uint32_t kSequences = 16;

  struct Sequence {
    uint64_t next = UINT64_MAX;   // the granule behind the last one wanted
    uint64_t ahead = UINT64_MAX;  // behind the last one read ahead
    uint32_t window = 0;
    uint64_t used_at = 0;  // in wants
  };

  // The one that `wanted` goes on with; nullptr: none.
  [[nodiscard]] Sequence* Find(Run wanted);
  [[nodiscard]] Sequence& LeastRecent();

  const uint32_t window_max_;
  uint32_t ceiling_;  // of all windows
  uint64_t requests_ = 0;
  std::array<Sequence, kSequences> sequences_{};
  Sequence* last_ = sequences_.data();
};

}  // namespace verbena::paging
