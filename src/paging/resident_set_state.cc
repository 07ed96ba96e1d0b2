// State and counters of a ResidentSet.

#include "paging/resident_set.h"

namespace verbena::paging {

namespace {

ResidentSet::State StateOf(const Frame& frame) {
  switch (frame.phase) {
    case Frame::Phase::kReading:
      return ResidentSet::State::kReading;
    case Frame::Phase::kResident:
      return frame.is_dirty ? ResidentSet::State::kDirty : ResidentSet::State::kClean;
    case Frame::Phase::kWriting:
      return ResidentSet::State::kWriting;
    case Frame::Phase::kBroken:
      return ResidentSet::State::kBroken;
  }
  UNREACHABLE();
}

// A granule that is clean, or being written unchanged, is writable in no view.
bool RightsFit(const Frame& frame) {
  Rights most = Rights::kNone;
  if (frame.phase == Frame::Phase::kResident) {
    most = frame.is_dirty ? Rights::kWrite : Rights::kRead;
  } else if (frame.phase == Frame::Phase::kWriting && !frame.is_doomed) {
    most = frame.is_rewritten ? Rights::kWrite : Rights::kRead;
  }
  return frame.cpu <= most && frame.adapter <= most;
}

// A frame is neither pinned nor in a list only while the store reads or writes it.
bool IsSomewhere(const Frame& frame) {
  if (frame.is_leaving && (frame.holds > 0 || frame.list != nullptr)) return false;
  return frame.holds > 0 || frame.list != nullptr || frame.is_leaving ||
         frame.phase == Frame::Phase::kReading;
}

}  // namespace

ResidentSet::Granule ResidentSet::granule(uint32_t granule) const {
  switch (granules_.place(granule)) {
    case Place::kZero:
      return {.state = State::kZero};
    case Place::kSwapped:
      return {.state = State::kSwapped};
    case Place::kBroken:
      return {.state = State::kBroken};
    case Place::kInMemory:
      break;
  }
  const Frame& frame = *granules_.Find(granule);
  return {.state = StateOf(frame), .cpu = frame.cpu, .adapter = frame.adapter};
}

Counters ResidentSet::counters() const {
  Counters counters = counters_;
  counters.in_memory = granules_.frame_count();
  counters.unwritable = health_.is_well() ? 0 : stuck_.size();
  return counters;
}

bool ResidentSet::IsConsistent() const {
  bool is_consistent = granules_.IsConsistent();
  uint32_t reading = 0;
  uint32_t writing = 0;
  uint32_t leaving = 0;
  uint32_t ahead = 0;
  uint32_t dirty = 0;
  granules_.ForEachFrame([&](const Frame& frame) {
    reading += frame.phase == Frame::Phase::kReading ? 1 : 0;
    writing += frame.phase == Frame::Phase::kWriting ? 1 : 0;
    leaving += frame.is_leaving ? 1 : 0;
    ahead += frame.is_ahead ? 1 : 0;
    dirty += frame.is_dirty ? 1 : 0;
    is_consistent = is_consistent && RightsFit(frame) && IsSomewhere(frame) &&
                    !(frame.is_dirty && frame.is_stored) &&
                    !(frame.waiter != Frame::kNone && frame.holds == 0);
  });
  return is_consistent && reading == reads_under_way_ && writing == writes_under_way_ &&
         leaving == leaving_ && ahead == ahead_ && dirty == dirty_ &&
         (requests_.size() > 0 || pledged_ == 0);
}

}  // namespace verbena::paging
