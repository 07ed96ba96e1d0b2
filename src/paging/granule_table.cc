#include "paging/granule_table.h"

namespace verbena::paging {

// LazyArray is zero at first, so every granule is at Place::kZero.
GranuleTable::GranuleTable(uint32_t granule_count) : words_(granule_count) {
  static_assert(static_cast<uint32_t>(Place::kZero) == 0);
  CHECK(granule_count <= kGranulesMax);
}

Frame& GranuleTable::Add(uint32_t granule) {
  CHECK(place(granule) != Place::kInMemory);
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(frames_.size()));
    frames_.emplace_back();
  }
  const uint32_t id = free_.back();
  free_.pop_back();
  Frame& frame = frames_[id];
  frame.granule = granule;
  frame.id = id;
  words_[granule] = static_cast<uint32_t>(Place::kInMemory) << kPlaceShift | id;
  return frame;
}

void GranuleTable::Remove(Frame& frame, Place place, uint32_t stamp) {
  CHECK(Find(frame.granule) == &frame && frame.list == nullptr && frame.holds == 0);
  CHECK(place != Place::kInMemory && stamp <= kStampMax);
  words_[frame.granule] = static_cast<uint32_t>(place) << kPlaceShift | stamp;
  free_.push_back(frame.id);
  frame = Frame();
}

void GranuleTable::SetPlace(uint32_t granule, Place place) {
  CHECK(place != Place::kInMemory);
  words_[granule] = static_cast<uint32_t>(place) << kPlaceShift | stamp(granule);
}

bool GranuleTable::IsConsistent() const {
  uint32_t in_memory = 0;
  for (uint32_t granule = 0; granule < granule_count(); ++granule) {
    const Frame* const frame = Find(granule);
    if (frame == nullptr) continue;
    ++in_memory;
    if (frame->granule != granule || &frames_[frame->id] != frame) return false;
  }
  return in_memory == frame_count();
}

}  // namespace verbena::paging
