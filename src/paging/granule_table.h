#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/lazy_array.h"
#include "paging/frame.h"

namespace verbena::paging {

// Where the contents of a granule are.
enum class Place : uint8_t { kZero, kSwapped, kBroken, kInMemory };

// Where each granule is, and the frames of those in memory. Four bytes a granule, which the system
// gives only when they are first written, and a Frame for each in memory: an arena of 2^26 granules
// costs little until it is used.
//
// The four bytes are the place and, in memory, the number of its frame, elsewhere the stamp of its
// leaving (Eviction), 0 if it never was in memory.
//
// Invariant: granule and frame of those in memory name each other. Frames keep their addresses.
// Owned by the ResidentSet; one thread at a time.
class GranuleTable {
 public:
  static constexpr uint32_t kGranulesMax = 1U << 26;

  explicit GranuleTable(uint32_t granule_count);

  [[nodiscard]] Place place(uint32_t granule) const {
    return static_cast<Place>(words_[granule] >> kPlaceShift);
  }
  // Of a granule that is not in memory.
  [[nodiscard]] uint32_t stamp(uint32_t granule) const {
    CHECK(place(granule) != Place::kInMemory);
    return words_[granule] & kNumberMask;
  }
  // nullptr unless it is in memory.
  [[nodiscard]] Frame* Find(uint32_t granule) {
    return place(granule) == Place::kInMemory ? &frames_[words_[granule] & kNumberMask] : nullptr;
  }
  [[nodiscard]] const Frame* Find(uint32_t granule) const {
    return place(granule) == Place::kInMemory ? &frames_[words_[granule] & kNumberMask] : nullptr;
  }

  // It is in memory from now on.
  Frame& Add(uint32_t granule);
  // Its granule is in memory no more, but at `place`.
  void Remove(Frame& frame, Place place, uint32_t stamp);
  // Of a granule that is not in memory; the stamp stays.
  void SetPlace(uint32_t granule, Place place);

  [[nodiscard]] uint32_t granule_count() const { return static_cast<uint32_t>(words_.size()); }
  [[nodiscard]] uint32_t frame_count() const {
    return static_cast<uint32_t>(frames_.size() - free_.size());
  }
  // Calls fn(frame) for each granule in memory.
  template <class Fn>
  void ForEachFrame(Fn fn) const {
    for (const Frame& frame : frames_) {
      if (frame.granule != Frame::kNobody) fn(frame);
    }
  }
  [[nodiscard]] bool IsConsistent() const;

 private:
  static constexpr unsigned kPlaceShift = 30;
  static constexpr uint32_t kNumberMask = (1U << kPlaceShift) - 1;
  static_assert(kStampMax <= kNumberMask && kGranulesMax <= kNumberMask);

  LazyArray<uint32_t> words_;
  std::deque<Frame> frames_;
  std::vector<uint32_t> free_;  // frames
};

}  // namespace verbena::paging
