#pragma once

#include <array>
#include <cstdint>

#include "paging/action.h"

namespace verbena::paging {

// Predicts which granules are requested next. Remembers where the last few sequences of requests
// have ended; a request that continues a sequence doubles its window. Windows start at 0, because
// the first request of a sequence is like any other. A granule that was read ahead and never
// requested halves the ceiling of all windows; one that was requested raises it by one.
//
// Ascending sequences only. Owned by the ResidentSet; one thread at a time.
class ReadAhead {
 public:
  explicit ReadAhead(uint32_t window_max) : window_max_(window_max), ceiling_(window_max) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The run to read ahead after `wanted`. It can be empty, and it can pass the end of the arena.
  [[nodiscard]] Run OnRequest(Run wanted);
  // Only the part before `end` of the run that OnRequest returned last is being read.
  void Cut(uint64_t end) { last_->ahead = end; }
  // OnHit: a granule that was read ahead has been requested. OnWaste: it was evicted without a
  // request.
  void OnHit();
  void OnWaste() { ceiling_ = ceiling_ > 1 ? ceiling_ / 2 : ceiling_; }

  [[nodiscard]] uint32_t ceiling() const { return ceiling_; }

 private:
  static constexpr uint32_t kSequences = 16;

  struct Sequence {
    uint64_t next = UINT64_MAX;   // the granule after the last one requested
    uint64_t ahead = UINT64_MAX;  // the granule after the last one read ahead
    uint32_t window = 0;
    uint64_t used_at = 0;  // in requests
  };

  // The sequence that `wanted` continues, or nullptr.
  [[nodiscard]] Sequence* Find(Run wanted);
  [[nodiscard]] Sequence& LeastRecent();

  const uint32_t window_max_;
  uint32_t ceiling_;  // of all windows
  uint64_t requests_ = 0;
  std::array<Sequence, kSequences> sequences_{};
  Sequence* last_ = sequences_.data();
};

}  // namespace verbena::paging
