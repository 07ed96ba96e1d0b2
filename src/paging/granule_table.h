#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/lazy_array.h"
#include "paging/frame.h"

namespace verbena::paging {

// Where the contents of a granule are.
enum class Place : uint8_t { kZero, kSwapped, kBroken, kInMemory };

// Where each granule is, and the frames of those in memory. Each granule costs four bytes, which
// the system allocates at the first write, and a Frame while it is in memory: an arena of 2^26
// granules costs little until it is used.
//
// The four bytes hold the place and a number: the index of the frame if the granule is in memory,
// otherwise the stamp of its last eviction (Eviction), 0 if it was never in memory.
//
// Invariant: each granule in memory and its frame refer to each other. Frames keep their addresses.
// Owned by the ResidentSet; one thread at a time.
class GranuleTable {
 public:
  static constexpr uint32_t kGranulesMax = 1U << 26;

  explicit GranuleTable(uint32_t granule_count);

  [[nodiscard]] Place place(uint32_t granule) const {
    return static_cast<Place>(words_[granule] >> kPlaceShift);
  }
  // REQUIRES: the granule is not in memory.
  [[nodiscard]] uint32_t stamp(uint32_t granule) const {
    CHECK(place(granule) != Place::kInMemory);
    return words_[granule] & kNumberMask;
  }
  // nullptr unless the granule is in memory.
  [[nodiscard]] Frame* Find(uint32_t granule) {
    return place(granule) == Place::kInMemory ? &frames_[words_[granule] & kNumberMask] : nullptr;
  }
  [[nodiscard]] const Frame* Find(uint32_t granule) const {
    return place(granule) == Place::kInMemory ? &frames_[words_[granule] & kNumberMask] : nullptr;
  }

  // Gives the granule a frame: it counts as in memory. REQUIRES: it is not in memory.
  Frame& Add(uint32_t granule);
  // Frees the frame; its granule is at `place` from here on. REQUIRES: the frame is in no list and
  // not pinned.
  void Remove(Frame& frame, Place place, uint32_t stamp);
  // REQUIRES: the granule is not in memory. Its stamp is unchanged.
  void SetPlace(uint32_t granule, Place place);

  [[nodiscard]] uint32_t granule_count() const { return static_cast<uint32_t>(words_.size()); }
  [[nodiscard]] uint32_t frame_count() const {
    return static_cast<uint32_t>(frames_.size() - free_.size());
  }
  // Calls fn(frame) for each granule in memory.
  template <class Fn>
  void ForEachFrame(Fn fn) const {
    for (const Frame& frame : frames_) {
      if (frame.granule != Frame::kNone) fn(frame);
    }
  }
  [[nodiscard]] bool IsConsistent() const;

 private:
  static constexpr unsigned kPlaceShift = 30;
  static constexpr uint32_t kNumberMask = (1U << kPlaceShift) - 1;
  static_assert(kStampMax <= kNumberMask && kGranulesMax <= kNumberMask);

  LazyArray<uint32_t> words_;
  std::deque<Frame> frames_;
  std::vector<uint32_t> free_;  // indices of free frames
};

}  // namespace verbena::paging
